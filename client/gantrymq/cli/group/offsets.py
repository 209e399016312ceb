"""Defines `gantry resetOffsetByTime` and related commands, which move the offsets of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.option import Option, Options, flag, required
from gantrymq.cli.frame.page import Page, Table, Text, page
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.offsets import END

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.wire.bodies.shared import MessageQueue

_GROUP: Final = required("g", "group", "consumer group")
_TOPIC: Final = required("t", "topic", "topic name")
_FORCE: Final = Option("f", "force", "true: backwards too (true)")
_CLUSTER: Final = Option("c", "cluster", "ignored: topics are found by their names")


async def reset(admin: Administration, options: Options) -> Page:
    group, topic = options.text("group"), options.text("topic")
    typed = options.text("timestamp")
    moment_ms = timestamps.parse(typed, admin.ports.clock.wall_ms())
    moment = f"timestamp(string)[{typed}], timestamp(long)[{moment_ms}]"
    broker = options.maybe("broker")
    target = f"start reset consumer offset by specified, group[{group}], topic[{topic}]"
    if broker is not None or options.maybe("queue") is not None:
        if broker is None or options.maybe("queue") is None:
            raise UsageError("-b and -q name one queue of one broker; give both or neither")
        return await _reset_one(admin, options, broker, moment_ms, (target, moment))
    force = options.decision("force", default=True)
    offsets = await admin.offsets.reset(group, topic, moment_ms, force=force)
    line = f"{target}, force[{str(force).lower()}], {moment}"
    return page(Text("reset", [line], moment_ms), _offset_table(offsets))


async def _reset_one(
    admin: Administration, options: Options, broker: str, moment_ms: int, said: tuple[str, str]
) -> Page:
    queue = options.number("queue")
    wanted = None if options.maybe("offset") is None else options.number("offset")
    offsets = await admin.offsets.reset_at(
        broker,
        options.text("group"),
        options.text("topic"),
        moment_ms,
        queue_id=queue,
        offset=wanted,
    )
    line = f"{said[0]}, queueId[{queue}], broker[{broker}], {said[1]}"
    shown = page(Text("reset", [line], moment_ms))
    for offset in offsets.values():
        shown.say("offset", f"reset consumer offset to {offset}", offset)
    return shown


def _offset_table(offsets: Mapping[MessageQueue, int]) -> Table:
    rows = [(queue.broker_name, queue.queue_id, each) for queue, each in sorted(offsets.items())]
    return Table("queues", ("#brokerName", "#queueId", "#offset"), "%-40s  %-40d  %-40d", rows)


async def skip(admin: Administration, options: Options) -> Page:
    force = options.decision("force", default=True)
    group, topic = options.text("group"), options.text("topic")
    return page(_offset_table(await admin.offsets.reset(group, topic, END, force=force)))


async def clone(admin: Administration, options: Options) -> Page:
    source, target, topic = (options.text(name) for name in ("srcGroup", "destGroup", "topic"))
    progress = await admin.groups.progress(source, topic)
    await admin.offsets.copy(progress, target)
    text = f"clone group offset success. srcGroup[{source}], destGroup=[{target}], topic[{topic}]"
    shown = Page()
    shown.say("cloned", text)
    return shown


async def client_progress(admin: Administration, options: Options) -> Page:
    group, topic = options.text("group"), options.text("topic")
    client = options.maybe("originClientId") or ""
    answers = await on_each(
        await admin.topics.brokers(topic),
        lambda address: admin.connections.progress(address, group, topic, client),
    )
    rows = [
        (name, queue.broker_name, queue.queue_id, offset)
        for status in answers.done.values()
        for name, progress in sorted(status.by_client.items())
        for queue, offset in sorted(progress.items())
    ]
    line = f"get consumer status from client. group={group}, topic={topic}, originClientId={client}"
    titles = ("#clientId", "#brokerName", "#queueId", "#offset")
    table = Table("queues", titles, "%-50s  %-15s  %-15d  %-20d", rows)
    return Page([Text("asked", [line], True), table], list(answers.failed.values()))


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "resetOffsetByTime",
            (
                _GROUP,
                _TOPIC,
                required("s", "timestamp", "now, milliseconds, or yyyy-MM-dd#HH:mm:ss:SSS"),
                _FORCE,
                flag("c", "cplus", "ignored: brokers notify C++ clients without it"),
                Option("b", "broker", "only at this broker, with -q"),
                Option("q", "queue", "only this queue, with -b"),
                Option("o", "offset", "to this offset instead, with -b and -q"),
                Option("", "cluster", "ignored: topics are found by their names"),
            ),
            reset,
        ),
        Command("skipAccumulatedMessage", (_GROUP, _TOPIC, _FORCE, _CLUSTER), skip),
        Command(
            "cloneGroupOffset",
            (
                required("s", "srcGroup", "the group whose offsets are copied"),
                required("d", "destGroup", "the group that is moved"),
                _TOPIC,
                Option("o", "offline", "ignored: stop the group that is moved"),
            ),
            clone,
        ),
        Command(
            "getConsumerStatus",
            (_GROUP, _TOPIC, Option("i", "originClientId", "only this client")),
            client_progress,
        ),
    )
}
