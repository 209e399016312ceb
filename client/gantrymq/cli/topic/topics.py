"""Defines `gantry topicList` and related commands, which show topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.option import Option, Options, flag, required
from gantrymq.cli.frame.page import Cell, Page, Table, Text, members, page
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.brokers import day_total
from gantrymq.client.core.admin.groups import DEAD_LETTER_PREFIX, RETRY_PREFIX
from gantrymq.client.core.errors import BrokerError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import Json

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.wire.bodies.consuming.stats import BrokerStatsData

_LINE_CHARACTERS: Final = 158
_TOPIC: Final = required("t", "topic", "topic name")
_CLUSTER: Final = Option("c", "cluster", "ignored: topics are found by their names")


async def topic_list(admin: Administration, options: Options) -> Page:
    names = await admin.topics.names()
    if not options.is_set("clusterModel"):
        return page(Text("topics", names, [*names]))
    plain = [name for name in names if not name.startswith((RETRY_PREFIX, DEAD_LETTER_PREFIX))]
    found = await on_each(plain, lambda topic: _placed(admin, topic), admin.pace)
    rows = [
        (cluster, topic, group) for topic, each in found.done.items() for cluster, group in each
    ]
    table = Table(
        "topics",
        ("#Cluster Name", "#Topic", "#Consumer Group"),
        "%-20s  %-64s  %-64s",
        rows,
        "%-20s  %-48s  %-48s",
    )
    return Page([table], list(found.failed.values()))


async def _placed(admin: Administration, topic: str) -> list[tuple[str, str]]:
    """Return the cluster with each group of a topic; a topic without a group has a row too."""
    route = await admin.topics.route(topic)
    cluster = route.brokers[0].cluster if route.brokers else ""
    return [(cluster, group) for group in await admin.topics.groups(topic) or ("",)]


async def topic_route(admin: Administration, options: Options) -> Page:
    route = await admin.topics.route(options.text("topic"))
    if not options.is_set("list"):
        value = route.to_json()
        return page(Text("route", [javajson.dumps_pretty(value).decode()], value))
    clusters = {broker.broker_name: broker for broker in route.brokers}
    rows: list[tuple[Cell, ...]] = []
    for queues in sorted(route.queues, key=lambda each: each.broker_name):
        broker = clusters[queues.broker_name]
        addresses = ", ".join(f"{number}={each}" for number, each in broker.addresses.items())
        numbers = (queues.read_queue_nums, queues.write_queue_nums, queues.perm)
        rows.append((broker.cluster, broker.broker_name, f"{{{addresses}}}", *numbers))
    titles = ("#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm")
    form = "%-45s %-32s %-50s %-10s %-11s %-5s"
    reads, writes = (sum(int(row[column]) for row in rows) for column in (3, 4))
    total = form % ("Total:", len(rows), "", reads, writes, "")
    value = {"brokers": len(rows), "readQueues": reads, "writeQueues": writes}
    return page(
        Table("queues", titles, form, rows),
        Text("total", ["-" * _LINE_CHARACTERS, total], {**value}),
    )


async def topic_status(admin: Administration, options: Options) -> Page:
    topic = options.text("topic")
    stats = await admin.topics.stats(topic)
    if not stats.queues:
        raise CommandError(
            f"Not found the topic stats info of {topic}: no broker has a queue of it"
        )
    rows = [
        (
            queue.broker_name,
            queue.queue_id,
            offset.min_offset,
            offset.max_offset,
            timestamps.millisecond(offset.last_update_ms) if offset.last_update_ms > 0 else "",
        )
        for queue, offset in sorted(stats.queues.items())
    ]
    titles = ("#Broker Name", "#QID", "#Min Offset", "#Max Offset", "#Last Updated")
    table = Table("queues", titles, "%-32s  %-4d  %-20d  %-20d    %s", rows)
    tps = javajson.java_double(stats.put_tps)
    return page(table, Text("putTps", ["", f"Topic Put TPS: {tps}"], stats.put_tps))


async def topic_clusters(admin: Administration, options: Options) -> Page:
    route = await admin.topics.route(options.text("topic"))
    names = sorted({broker.cluster for broker in route.brokers})
    return page(Text("clusters", names, [*names]))


async def allocate(admin: Administration, options: Options) -> Page:
    """Share queues as clients do by default: each gets a range of consecutive queues."""
    topic = options.text("topic")
    route = await admin.topics.route(topic)
    queues = [
        MessageQueue(topic, each.broker_name, number)
        for each in sorted(route.queues, key=lambda each: each.broker_name)
        for number in range(each.read_queue_nums)
    ]
    clients = [each.strip() for each in options.text("ipList").split(",") if each.strip()]
    shares = members({client: [*share] for client, share in _shares(queues, clients).items()})
    line = javajson.dumps_fastjson({"result": shares}).decode()
    return page(Text("result", [line], shares))


def _shares(queues: list[MessageQueue], clients: list[str]) -> dict[str, list[Json]]:
    """Divide the queues evenly; if a rest remains, the first clients get one more."""
    if not clients:
        raise UsageError("--ipList names no client; give addresses, separated by commas")
    least, more = divmod(len(queues), len(clients))
    shares: dict[str, list[Json]] = {}
    start = 0
    for number, client in enumerate(clients):
        end = start + least + (number < more)
        shares[client] = [queue.to_json() for queue in queues[start:end]]
        start = end
    return shares


async def stats_all(admin: Administration, options: Options) -> Page:
    wanted = options.maybe("topic")
    names = await admin.topics.names()
    plain = [
        name
        for name in names
        if not name.startswith((RETRY_PREFIX, DEAD_LETTER_PREFIX)) and wanted in {None, name}
    ]
    is_active = options.is_set("activeTopic")
    found = await on_each(plain, lambda topic: _activity(admin, topic), admin.pace)
    rows = [row for each in found.done.values() for row in each if not is_active or row[5]]
    titles = (
        *("#Topic", "#Consumer Group", "#Accumulation", "#InTPS", "#OutTPS"),
        *("#InMsg24Hour", "#OutMsg24Hour"),
    )
    form = "%-64s  %-64s %12s %11s %11s %14s %14s"
    return Page([Table("stats", titles, form, rows)], list(found.failed.values()))


async def _activity(admin: Administration, topic: str) -> list[tuple[Cell, ...]]:
    """Make a row for each group of a topic, or a row that says NO_CONSUMER."""
    brokers = await admin.topics.brokers(topic)
    put_tps, put_day = await _rate(admin, brokers, "TOPIC_PUT_NUMS", topic)
    groups = await admin.topics.groups(topic)
    arriving = (f"{put_tps:.2f}",)
    if not groups:
        return [(topic, "", 0, *arriving, "", put_day, "NO_CONSUMER")]
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        tps, day = await _rate(admin, brokers, "GROUP_GET_NUMS", f"{topic}@{group}")
        waiting = await _waiting(admin, brokers, group, topic)
        rows.append((topic, group, waiting, *arriving, f"{tps:.2f}", put_day, day))
    return rows


async def _rate(
    admin: Administration, brokers: list[str], name: str, key: str
) -> tuple[float, int]:
    """Return messages per second and per day at all brokers. A broker without statistics refuses
    the request, and counts as zero."""

    async def of_one(address: str) -> BrokerStatsData:
        return await admin.brokers.stats(address, name, key)

    each = await on_each(brokers, of_one)
    for failure in each.failed.values():
        if not isinstance(failure, BrokerError):
            raise failure
    counted = each.done.values()
    return sum(one.minute.tps for one in counted), sum(map(day_total, counted))


async def _waiting(admin: Administration, brokers: list[str], group: str, topic: str) -> int:
    parts = await on_each(brokers, lambda address: admin.groups.progress_at(address, group, topic))
    return sum(
        each.broker_offset - each.consumer_offset
        for part in parts.all().values()
        for each in part.queues.values()
    )


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "topicList",
            (flag("c", "clusterModel", "with clusters and consumer groups"),),
            topic_list,
        ),
        Command("topicRoute", (_TOPIC, flag("l", "list", "as a table")), topic_route),
        Command("topicStatus", (_TOPIC, _CLUSTER), topic_status),
        Command("topicClusterList", (_TOPIC,), topic_clusters),
        Command(
            "allocateMQ",
            (_TOPIC, required("i", "ipList", "the clients, separated by commas")),
            allocate,
        ),
        Command(
            "statsAll",
            (
                flag("a", "activeTopic", "only topics with messages in the last 24 hours"),
                Option("t", "topic", "only this topic"),
            ),
            stats_all,
        ),
    )
}
