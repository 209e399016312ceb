"""Checks consumer groups: whether they have members, and whether all members can consume."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.checkup.findings import Finding, Level
from gantrymq.client.core.admin.groups import RETRY_PREFIX
from gantrymq.client.core.errors import BrokerError
from gantrymq.wire.bodies.connections import ConsumerConnection
from gantrymq.wire.bodies.consuming.queue_stats import ConsumeStats
from gantrymq.wire.bodies.heartbeat import CLUSTERING
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.jsonvalue import JsonObject

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration


async def group_findings(admin: Administration) -> list[Finding]:
    """Return the findings about all groups that have consumed at least once."""
    names = await admin.groups.names()
    told = await on_each(names, lambda group: _of_one(admin, group), admin.pace)
    found = [each for findings in told.done.values() for each in findings]
    for group, failure in told.failed.items():
        fix = f"gantry consumerProgress -g {group}"
        found.append(Finding(Level.NOTE, f"group {group}", f"not looked at: {failure}", fix))
    return found


async def _of_one(admin: Administration, group: str) -> list[Finding]:
    progress = await admin.groups.progress(group)
    address = (await admin.groups.brokers(group))[0]
    try:
        consumers = await admin.connections.consumers_at(address, group)
    except BrokerError as error:
        if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
            raise
        return list(_left_alone(group, progress))
    found = list(_members(group, consumers, progress))
    clients = [each.client_id for each in consumers.connections]
    told = await on_each(clients, lambda client: admin.connections.running(address, group, client))
    return found + list(_conflicts(group, dict(told.done)))


def _left_alone(group: str, progress: ConsumeStats) -> Iterator[Finding]:
    waiting = sum(each.broker_offset - each.consumer_offset for each in progress.queues.values())
    if waiting > 0:
        yield Finding(
            Level.WARNING,
            f"group {group}",
            f"{waiting} messages wait for it, and it has no member",
            f"start its consumers; is it not needed any more: gantry deleteSubGroup -g {group}"
            " -c <cluster> -r true",
        )


def _members(
    group: str, consumers: ConsumerConnection, progress: ConsumeStats
) -> Iterator[Finding]:
    subject, connections = f"group {group}", consumers.connections
    doubled = Counter(each.client_id for each in connections)
    for client, count in sorted(doubled.items()):
        if count > 1:
            yield Finding(
                Level.ERROR,
                subject,
                f"{count} connections call themselves {client}: they share what one should have",
                "give each process an instance name of its own",
            )
    topics = Counter(
        queue.topic for queue in progress.queues if not queue.topic.startswith(RETRY_PREFIX)
    )
    most = max(topics.values(), default=0)
    if consumers.message_model == CLUSTERING and 0 < most < len(doubled):
        topic = topics.most_common(1)[0][0]
        yield Finding(
            Level.WARNING,
            subject,
            f"has {len(doubled)} members for {most} queues of {topic}: the others idle",
            f"gantry updateTopic -t {topic} -c <cluster> -r {len(doubled)} -w {len(doubled)}",
        )


def _conflicts(group: str, running: dict[str, JsonObject]) -> Iterator[Finding]:
    """Find members whose subscriptions differ: the rebalance assumes that all members have the
    same."""
    wanted = {client: _subscribed(each) for client, each in sorted(running.items())}
    kinds = Counter(wanted.values())
    if len(kinds) > 1:
        usual = kinds.most_common(1)[0][0]
        odd = [client for client, each in wanted.items() if each != usual]
        yield Finding(
            Level.ERROR,
            f"group {group}",
            f"its members do not subscribe to the same, so messages stay unread: {', '.join(odd)}"
            " differ from the rest",
            "let all members subscribe to the same topics and tags, or give them groups of their"
            " own",
        )


def _subscribed(running: JsonObject) -> frozenset[str]:
    listed = running.get("subscriptionSet")
    items = listed if isinstance(listed, list) else []
    return frozenset(
        f"{each.get('topic')} {each.get('expressionType')} {each.get('subString')}"
        for each in items
        if isinstance(each, dict)
    )
