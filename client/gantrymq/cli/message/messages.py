"""Defines `gantry queryMsgById` and related commands: single messages and their consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.base.errors import RemoteError
from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.option import Option, Options, flag, required
from gantrymq.cli.frame.page import Page, Table, Text, page
from gantrymq.cli.message.message_text import described
from gantrymq.client.core.admin.messages import TIME_MAX
from gantrymq.wire import hosts, javajson
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import Json
from gantrymq.wire.message import unique_id

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.message.received import ReceivedMessage
    from gantrymq.wire.bodies.consuming.consume_queue import ConsumeQueueBody

_TOPIC: Final = required("t", "topic", "topic name")
_ID: Final = required("i", "msgId", "message id")
_GROUP: Final = Option("g", "consumerGroup", "with -d: let a consumer of this group consume it now")
_CLIENT: Final = Option("d", "clientId", "with -g: the consumer")
_CLUSTER: Final = Option("c", "cluster", "ignored: topics are found by their names")
_FORMAT: Final = Option("f", "bodyFormat", "ignored: bodies are shown as UTF-8")
_SHOW_ALL: Final = 32
_RULE: Final = "======================================"


async def by_offset_id(admin: Administration, options: Options) -> Page:
    shown = Page()
    for each in options.text("msgId").split(","):
        try:
            message = await admin.messages.by_offset_id(each.strip(), options.maybe("topic"))
        except RemoteError:
            message = await _by_unique_key(admin, options.text("topic"), each.strip())
        await _show(admin, options, message, shown)
    return shown


async def by_unique_key(admin: Administration, options: Options) -> Page:
    topic, key = options.text("topic"), options.text("msgId")
    if options.is_set("showAll"):
        found = await admin.messages.by_key(topic, key, most=_SHOW_ALL, is_unique=True)
    else:
        found = [await _by_unique_key(admin, topic, key)]
    shown = Page()
    for message in found:
        await _show(admin, options, message, shown, with_offset_id=False)
    return shown


async def _by_unique_key(admin: Administration, topic: str, key: str) -> ReceivedMessage:
    found = await admin.messages.by_key(topic, key, most=_SHOW_ALL, is_unique=True)
    if not found:
        raise CommandError(
            f"CODE: 208  DESC: query message by key finished, but no message: {topic} has no"
            f" message {key}, or the message has expired"
        )
    return min(found, key=lambda message: message.stored_ms)


async def _show(
    admin: Administration,
    options: Options,
    message: ReceivedMessage,
    shown: Page,
    *,
    with_offset_id: bool = True,
) -> None:
    """Show the message and which groups consumed it. With a group and a client, let that client
    consume the message, and show the result instead."""
    group, client = options.maybe("consumerGroup"), options.maybe("clientId")
    if group and client:
        address = message.store_host
        result = await admin.connections.consume(
            address, group, client, message.topic, message.offset_id
        )
        names = ("order", "autoCommit", "consumeResult", "remark", "spentTimeMills")
        listed = ", ".join(f"{name}={_java_text(result.get(name))}" for name in names)
        shown.say("consumed", f"ConsumeMessageDirectlyResult [{listed}]", result)
        return
    shown.parts.append(described(message, with_offset_id=with_offset_id))
    await _show_tracks(admin, message, shown)


async def _show_tracks(admin: Administration, message: ReceivedMessage, shown: Page) -> None:
    tracks = await admin.tracks.of(message)
    if not tracks:
        lines = ["", "", "WARN: No Consumer"]
        shown.parts.append(Text("tracks", lines, [], is_one_of_many=True))
        return
    lines = [
        f"MessageTrack [consumerGroup={each.group}, trackType={each.fate.value},"
        f" exceptionDesc={_java_text(each.why)}]"
        for each in tracks
    ]
    value: list[Json] = [
        {"group": each.group, "trackType": each.fate.value, "why": each.why} for each in tracks
    ]
    shown.parts.append(Text("tracks", ["", "", *lines], value, is_one_of_many=True))


def _java_text(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


async def by_key(admin: Administration, options: Options) -> Page:
    found = await admin.messages.by_key(
        options.text("topic"),
        options.text("msgKey"),
        most=options.number("maxNum", 64),
        begin_ms=options.number("beginTimestamp", 0),
        end_ms=options.number("endTimestamp", TIME_MAX),
    )
    if not found:
        raise CommandError(
            "CODE: 208  DESC: query message by key finished, but no message: no message of"
            f" {options.text('topic')} has this key, or the messages have expired"
        )
    rows = [(each.id, each.record.queue_id, each.offset) for each in found]
    form = "%-50s %4d %40d"
    return page(Table("messages", ("#Message ID", "#QID", "#Offset"), form, rows))


async def by_offset(admin: Administration, options: Options) -> Page:
    name = options.text("brokerName")
    queue = MessageQueue(options.text("topic"), name, options.number("queueId"))
    address = await admin.clusters.master(name)
    offset = options.number("offset")
    pulled = await admin.messages.pull(address, queue, offset, most=1)
    if not pulled.messages:  # mqadmin prints nothing here
        raise CommandError(
            f"queue {queue.queue_id} of {queue.topic} at {name} has no message {offset};"
            f" gantry topicStatus -t {queue.topic} shows its offsets"
        )
    shown = Page()
    for message in pulled.messages[:1]:
        shown.parts.append(described(message))
        await _show_tracks(admin, message, shown)
    return shown


async def queue_units(admin: Administration, options: Options) -> Page:
    topic = options.text("topic")
    queue = MessageQueue(topic, "", options.number("queue"))
    address = options.maybe("broker") or (await admin.topics.brokers(topic))[0]
    index = options.number("index")
    found = await admin.messages.units(
        address, queue, index, options.number("count", 10), options.maybe("consumer")
    )
    if found is None:
        raise CommandError(
            f"queue {queue.queue_id} of {topic} at {address} has no entry {index};"
            f" gantry topicStatus -t {topic} shows its offsets"
        )
    return page(Text("queue", _unit_lines(found, index), found.to_json()))


def _unit_lines(found: ConsumeQueueBody, index: int) -> list[str]:
    lines = []
    if found.subscription is not None:
        pretty = javajson.dumps_pretty(found.subscription.to_json()).decode()
        lines += ["Subscription data: ", pretty, _RULE]
    if found.filter_data is not None:
        lines += ["Filter data: ", found.filter_data, _RULE]
    lines += ["Queue data: ", f"max: {found.maximum}, min: {found.minimum}", _RULE]
    for number, unit in enumerate(found.units, index):
        lines += [
            f"idx: {number}",
            (
                f"ConsumeQueueData{{physicOffset={unit.physical_offset}, physicSize={unit.size},"
                f" tagsCode={unit.tags_code}, extendDataJson='null', bitMap='null',"
                f" eval={str(unit.evaluates).lower()}, msg='{unit.remark or 'null'}'}}"
            ),
            _RULE,
        ]
    return lines


async def decode_id(admin: Administration, options: Options) -> Page:
    """Decode a unique id without asking a server. The id has a time within a month: assume this
    month, or the month before if the time would lie in the future."""
    try:
        decoded = unique_id.decode(options.text("messageId"))
    except RemoteError as error:
        raise UsageError(str(error)) from None
    now_ms = admin.ports.clock.wall_ms()
    made_ms = decoded.created_ms(now_ms, *timestamps.month_starts(now_ms))
    address = hosts.address_text(decoded.address)
    made = timestamps.millisecond(made_ms).replace(" ", "#").replace(",", ":")
    return page(Text("ip", [f"ip={address}"], address), Text("date", [f"date={made}"], made_ms))


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "queryMsgById",
            (Option("t", "topic", "topic name"), _ID, _GROUP, _CLIENT, _FORMAT, _CLUSTER),
            by_offset_id,
        ),
        Command(
            "queryMsgByUniqueKey",
            (
                _TOPIC,
                _ID,
                _GROUP,
                _CLIENT,
                flag("a", "showAll", "all messages with the id (at most 32)"),
                _CLUSTER,
            ),
            by_unique_key,
        ),
        Command(
            "queryMsgByKey",
            (
                _TOPIC,
                required("k", "msgKey", "the key"),
                Option("b", "beginTimestamp", "stored then or later, in milliseconds"),
                Option("e", "endTimestamp", "stored then or before, in milliseconds"),
                Option("m", "maxNum", "the most messages of each broker (64)"),
                _CLUSTER,
            ),
            by_key,
        ),
        Command(
            "queryMsgByOffset",
            (
                _TOPIC,
                required("b", "brokerName", "broker name"),
                required("i", "queueId", "queue id"),
                required("o", "offset", "offset in the queue"),
                _FORMAT,
            ),
            by_offset,
        ),
        Command(
            "queryCq",
            (
                _TOPIC,
                required("q", "queue", "queue id"),
                required("i", "index", "the first entry to show"),
                Option("c", "count", "the number of entries (10)"),
                Option("b", "broker", "at this broker"),
                Option("g", "consumer", "show whether this group's filter matches each"),
            ),
            queue_units,
        ),
        Command("DecodeMessageId", (required("i", "messageId", "unique message id"),), decode_id),
    )
}
