"""Defines `gantry consumerProgress`: offsets and lag, of a group's queues or of all groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import CommandError
from gantrymq.cli.frame.option import Option, Options
from gantrymq.cli.frame.page import Cell, Page, Table, Text, members
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.errors import BrokerError
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.jsonvalue import object_of
from gantrymq.wire.version import version_name

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.wire.bodies.connections import ConsumerConnection

_PASSIVELY: Final = "CONSUME_PASSIVELY"


async def consumer_progress(admin: Administration, options: Options) -> Page:
    group = options.maybe("groupName")
    if group is None:
        return await _of_all(admin)
    return await _of_one(admin, group, options)


async def _of_one(admin: Administration, group: str, options: Options) -> Page:
    topic = options.maybe("topicName")
    stats = await admin.groups.progress(group, topic)
    if not stats.queues:
        raise CommandError(
            "Not found the consumer group consume stats, because return offset table is empty,"
            f" maybe the consumer not consume any message: {group} has no offsets yet"
        )
    with_addresses = options.decision("showClientIP")
    clients = await _clients(admin, group) if with_addresses else {}
    rows: list[tuple[Cell, ...]] = []
    behind = unfinished = 0
    for queue, offset in sorted(stats.queues.items()):
        diff = offset.broker_offset - offset.consumer_offset
        in_flight = offset.pull_offset - offset.consumer_offset
        behind += diff
        unfinished += in_flight
        row: list[Cell] = [queue.topic, queue.broker_name, queue.queue_id]
        row += [offset.broker_offset, offset.consumer_offset]
        if with_addresses:
            row.append(clients.get(queue, "N/A"))
        row += [diff, in_flight, timestamps.second(offset.last_ms) if offset.last_ms else "N/A"]
        rows.append(tuple(row))
    lines = [
        "",
        f"Consume TPS: {stats.consume_tps:.2f}",
        f"Consume Diff Total: {behind}",
        f"Consume Inflight Total: {unfinished}",
    ]
    value = {"tps": stats.consume_tps, "diff": behind, "inflight": unfinished}
    return Page(
        [_queue_table(rows, with_addresses=with_addresses), Text("total", lines, members(value))]
    )


def _queue_table(rows: list[tuple[Cell, ...]], *, with_addresses: bool) -> Table:
    left = "%-64s  %-32s  %-4d  %-20d  %-20d  "
    titles = ["#Topic", "#Broker Name", "#QID", "#Broker Offset", "#Consumer Offset"]
    rest = ["#Diff", "#Inflight", "#LastTime"]
    # mqadmin's titles lack the blank before the last one.
    names = left.replace("d", "s")
    if with_addresses:
        titles.append("#Client IP")
        left, names = left + "%-20s ", names + "%-20s "
    form, title_form = left + "%-20d %-20d %s", names + "%-20s %-20s%s"
    return Table("queues", [*titles, *rest], form, rows, title_form)


async def _clients(admin: Administration, group: str) -> dict[MessageQueue, str]:
    """Return the address of the client that consumes each queue, as the clients report it."""
    address = (await admin.groups.brokers(group))[0]
    consumers = await admin.connections.consumers_at(address, group)
    answers = await on_each(
        [each.client_id for each in consumers.connections],
        lambda client: admin.connections.running(address, group, client),
    )
    return {
        MessageQueue.from_key(key): client.partition("@")[0]
        for client, running in answers.done.items()
        for key in object_of(running.get("mqTable") or {}, "mqTable")
    }


async def _of_all(admin: Administration) -> Page:
    names = await admin.groups.names()
    found = await on_each(names, lambda group: _sum(admin, group), admin.pace)
    rows = sorted(found.done.values(), key=lambda row: (-int(row[6]), str(row[0])))
    titles = ("#Group", "#Count", "#Version", "#Type", "#Model", "#TPS", "#Diff Total")
    form = "%-64s  %-6d  %-24s %-5s  %-14s  %-7d  %d"
    return Page([Table("groups", titles, form, rows)], list(found.failed.values()))


async def _sum(admin: Administration, group: str) -> tuple[Cell, ...]:
    """Make a group's row. A group without offsets or consumers has zeros and blanks."""
    tps = behind = 0
    try:
        stats = await admin.groups.progress(group)
        tps = int(stats.consume_tps)
        behind = sum(each.broker_offset - each.consumer_offset for each in stats.queues.values())
    except BrokerError as error:
        if error.code != ResponseCode.TOPIC_NOT_EXIST:
            raise
    try:
        consumers = await admin.connections.consumers(group)
    except BrokerError as error:
        if error.code not in {ResponseCode.CONSUMER_NOT_ONLINE, ResponseCode.TOPIC_NOT_EXIST}:
            raise
        return (group, 0, "OFFLINE", "", "", tps, behind)
    return (
        group,
        len(consumers.connections),
        _oldest_version(consumers),
        "PUSH" if consumers.consume_type == _PASSIVELY else "PULL",
        consumers.message_model if consumers.consume_type == _PASSIVELY else "",
        tps,
        behind,
    )


def _oldest_version(consumers: ConsumerConnection) -> str:
    return version_name(min((each.version for each in consumers.connections), default=0))


COMMANDS: Final = {
    "consumerProgress": Command(
        "consumerProgress",
        (
            Option("g", "groupName", "the queues of this group, one by one"),
            Option("t", "topicName", "only the queues of this topic"),
            Option("s", "showClientIP", "true: show the consumer of each queue"),
            Option("c", "cluster", "ignored: groups are found by their names"),
        ),
        consumer_progress,
    )
}
