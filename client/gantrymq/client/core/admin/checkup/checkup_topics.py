"""Checks topics: whether they can be written and read, and which brokers have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.checkup.findings import Finding, Level
from gantrymq.client.core.admin.groups import DEAD_LETTER_PREFIX, RETRY_PREFIX
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.wire.bodies.cluster import ClusterInfo
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.bodies.shared import Permission, TopicConfig

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration


async def topic_findings(
    admin: Administration, info: ClusterInfo, masters: list[str]
) -> list[Finding]:
    """Return the findings about the topics of the brokers at these addresses."""
    configs = await on_each(masters, admin.topics.configs)
    system = await on_each(masters, admin.topics.system_names)
    left_out = {name for names in system.done.values() for name in names}
    left_out |= {*info.clusters, *info.brokers}
    topics = sorted({topic for each in configs.done.values() for topic in each} - left_out)
    routes = await on_each(topics, admin.topics.route, admin.pace)
    found = [
        Finding(
            Level.ERROR,
            f"topic {topic}",
            f"a broker has it, name servers do not give its route: {failure}",
            f"gantry updateTopic -t {topic} -c <cluster>, or wait 30 s after a broker's start",
        )
        for topic, failure in routes.failed.items()
    ]
    for topic, route in routes.done.items():
        if topic.startswith(DEAD_LETTER_PREFIX):
            found += await _dead_letters(admin, topic)
        elif not topic.startswith(RETRY_PREFIX):
            found += _of_one(topic, route, info, configs.done)
    return found


def _of_one(
    topic: str,
    route: TopicRouteData,
    info: ClusterInfo,
    configs: Mapping[str, Mapping[str, TopicConfig]],
) -> Iterator[Finding]:
    subject = f"topic {topic}"
    writable = [
        each for each in route.queues if each.perm & Permission.WRITE and each.write_queue_nums
    ]
    if not writable:
        yield Finding(
            Level.ERROR,
            subject,
            "no queue of it can be written",
            f"gantry updateTopicPerm -t {topic} -c <cluster> -p 6",
        )
    yield from _wiped(subject, topic, route, configs)
    clusters = {broker.cluster for broker in route.brokers}
    possible = [
        name
        for name, broker in info.brokers.items()
        if broker.cluster in clusters and MASTER_ID in broker.addresses
    ]
    if len(route.queues) == 1 and len(possible) > 1:
        yield Finding(
            Level.WARNING,
            subject,
            f"only {route.queues[0].broker_name} has it, of {len(possible)} brokers: while that one"
            " is away nothing can be sent",
            f"gantry updateTopic -t {topic} -c {', '.join(sorted(clusters))}",
        )


def _wiped(
    subject: str,
    topic: str,
    route: TopicRouteData,
    configs: Mapping[str, Mapping[str, TopicConfig]],
) -> Iterator[Finding]:
    """Find topics whose write permission the name servers removed although the broker grants it."""
    addresses = {broker.broker_name: broker.addresses.get(MASTER_ID) for broker in route.brokers}
    for queues in route.queues:
        own = configs.get(addresses.get(queues.broker_name) or "", {}).get(topic)
        if own is not None and own.perm & ~queues.perm & Permission.WRITE:
            yield Finding(
                Level.WARNING,
                subject,
                f"its write permission at {queues.broker_name} was wiped at the name servers",
                f"gantry addWritePerm -b {queues.broker_name}",
            )


async def _dead_letters(admin: Administration, topic: str) -> list[Finding]:
    stats = await admin.topics.stats(topic)
    count = sum(each.max_offset - each.min_offset for each in stats.queues.values())
    if not count:
        return []
    return [
        Finding(
            Level.WARNING,
            f"group {topic.removeprefix(DEAD_LETTER_PREFIX)}",
            f"{count} messages failed as often as they may: they wait in {topic}",
            f"gantry printMsg -t {topic}; send them again once their cause is gone",
        )
    ]
