"""Defines `gantry printMsg` and related commands, which read queues without moving any offset."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.option import Option, Options, required
from gantrymq.cli.frame.page import Page, Text
from gantrymq.cli.message.message_text import body_text, java_text, to_json
from gantrymq.client.core.admin.topics import readable
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import Json

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.message.received import ReceivedMessage

_TOPIC: Final = required("t", "topic", "topic name")
_MOMENTS: Final = "now, milliseconds, or yyyy-MM-dd#HH:mm:ss:SSS"
_BEGIN: Final = Option("b", "beginTimestamp", f"stored then or later: {_MOMENTS}")
_END: Final = Option("e", "endTimestamp", f"stored then or before: {_MOMENTS}")
_TAGS: Final = Option("s", "subExpression", "only these tags: TagA || TagB")
_CHARSET: Final = Option("c", "charsetName", "the character set of bodies (UTF-8)")


@dataclass(frozen=True, slots=True)
class _Range:
    """The offsets of one queue from `begin` to below `end`."""

    address: str
    queue: MessageQueue
    begin: int
    end: int


@dataclass(slots=True)
class _Read:
    """The messages of a range, and the status and offset at which reading ended."""

    messages: list[ReceivedMessage]
    status: str
    offset: int


async def _ranges(
    admin: Administration, topic: str, begin: str | None, end: str | None
) -> list[_Range]:
    """Return the range of each queue: all of it, or what was stored between two times."""
    route = await admin.topics.route(topic)
    addresses = {broker.broker_name: readable(broker) for broker in route.brokers}
    now_ms = admin.ports.clock.wall_ms()
    found = []
    for queues in sorted(route.queues, key=lambda each: each.broker_name):
        for number in range(queues.read_queue_nums):
            queue = MessageQueue(topic, queues.broker_name, number)
            address = addresses[queues.broker_name]
            first = await _edge(admin, address, queue, begin, now_ms, is_end=False)
            past = await _edge(admin, address, queue, end, now_ms, is_end=True)
            found.append(_Range(address, queue, first, past))
    return found


async def _edge(
    admin: Administration,
    address: str,
    queue: MessageQueue,
    moment: str | None,
    now_ms: int,
    *,
    is_end: bool,
) -> int:
    if moment is not None:
        return await admin.offsets.at(address, queue, timestamps.parse(moment, now_ms))
    offsets = admin.offsets
    return await (offsets.end(address, queue) if is_end else offsets.first(address, queue))


async def _read(admin: Administration, place: _Range, tags: str, most: int | None = None) -> _Read:
    found = _Read([], "NO_MATCHED_MSG", place.begin)
    while found.offset < place.end and (most is None or len(found.messages) < most):
        pulled = await admin.messages.pull(
            place.address, place.queue, found.offset, expression=tags
        )
        found.status = pulled.status
        found.messages += [each for each in pulled.messages if each.offset < place.end]
        if pulled.next_offset <= found.offset:
            break
        found.offset = pulled.next_offset
    if most is not None:
        del found.messages[most:]
    return found


async def print_topic(admin: Administration, options: Options) -> Page:
    tags = options.maybe("subExpression") or "*"
    charset = _charset(options)
    with_body = options.decision("printBody", default=True)
    shown = Page()
    topic = options.text("topic")
    begin, end = options.maybe("beginTimestamp"), options.maybe("endTimestamp")
    places = await _ranges(admin, topic, begin, end)
    admin.pace.begin(len(places))
    for place in places:
        admin.pace.advance()
        found = await _read(admin, place, tags)
        name = _queue_text(place.queue)
        lines = [f"minOffset={place.begin}, maxOffset={place.end}, {name}"]
        lines += [_line(each, charset, with_body=with_body) for each in found.messages]
        lines += _ending(name, place, found)
        lines.append("--------------------------------------------------------")
        value: list[Json] = [to_json(each) for each in found.messages]
        shown.parts.append(Text(f"{place.queue.broker_name}/{place.queue.queue_id}", lines, value))
    admin.pace.end()
    return shown


def _charset(options: Options) -> str:
    """Return the character set. Raises UsageError if Python cannot decode text with it."""
    charset = options.maybe("charsetName") or "UTF-8"
    try:
        b" ".decode(charset, "backslashreplace")
    except (LookupError, ValueError):
        raise UsageError(f"--charsetName must be a character set, not {charset!r}") from None
    return charset


def _ending(name: str, place: _Range, found: _Read) -> list[str]:
    """Return a line if the range had messages but none matched."""
    if place.begin < place.end and not found.messages:
        return [f"{name} no matched msg. status={found.status}, offset={found.offset}"]
    return []


def _queue_text(queue: MessageQueue) -> str:
    return (
        f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name},"
        f" queueId={queue.queue_id}]"
    )


def _line(message: ReceivedMessage, charset: str, *, with_body: bool) -> str:
    body = body_text(message, charset) if with_body else "NOT PRINT BODY"
    return f"MSGID: {message.id} {java_text(message)} BODY: {body}"


async def print_queue(admin: Administration, options: Options) -> Page:
    topic, name = options.text("topic"), options.text("brokerName")
    wanted = MessageQueue(topic, name, options.number("queueId"))
    begin, end = options.maybe("beginTimestamp"), options.maybe("endTimestamp")
    places = await _ranges(admin, topic, begin, end)
    place = next((each for each in places if each.queue == wanted), None)
    if place is None:
        raise UsageError(f"there is no queue {wanted.queue_id} of {topic} at {name}")
    found = await _read(admin, place, options.maybe("subExpression") or "*")
    lines = []
    if options.decision("calculate"):
        tags = Counter(message.tag for message in found.messages if message.tag)
        lines = [f"Tag: {tag:<30} Count: {count}" for tag, count in tags.most_common()]
    if options.decision("print"):
        charset = _charset(options)
        with_body = options.decision("printBody")
        lines += [_line(each, charset, with_body=with_body) for each in found.messages]
    value: list[Json] = [to_json(each) for each in found.messages]
    return Page([Text("messages", lines, value)])


async def read_some(admin: Administration, options: Options) -> Page:
    """Read a number of messages of each queue that the options select."""
    name, queue_id = options.maybe("brokerName"), options.maybe("queueId")
    offset, most = options.maybe("offset"), options.number("MessageNumber", 128)
    if most <= 0:
        raise UsageError("Please input a positive messageNumber!")
    if queue_id is not None and name is None:
        raise UsageError("Please set the brokerName before queueId!")
    if offset is not None and queue_id is None:
        raise UsageError("Please set queueId before offset!")
    places = await _ranges(
        admin,
        options.text("topic"),
        options.maybe("beginTimestamp"),
        options.maybe("endTimestamp"),
    )
    shown = Page()
    for place in places:
        queue = place.queue
        if name not in {None, queue.broker_name} or queue_id not in {None, str(queue.queue_id)}:
            continue
        begin = place.begin if offset is None else options.number("offset")
        found = await _read(admin, _Range(place.address, queue, begin, place.end), "*", most=most)
        lines = ["Consume ok"] if found.messages else [f"{_queue_text(queue)} no matched msg"]
        lines += [_line(each, "UTF-8", with_body=True) for each in found.messages]
        value: list[Json] = [to_json(each) for each in found.messages]
        shown.parts.append(Text(f"{queue.broker_name}/{queue.queue_id}", lines, value))
    return shown


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "printMsg",
            (
                _TOPIC,
                _CHARSET,
                _TAGS,
                _BEGIN,
                _END,
                Option("d", "printBody", "false: leave out the bodies (true)"),
                Option("l", "lmqParentTopic", "ignored: Gantry has no light queues"),
            ),
            print_topic,
        ),
        Command(
            "printMsgByQueue",
            (
                _TOPIC,
                required("a", "brokerName", "broker name"),
                required("i", "queueId", "queue id"),
                _CHARSET,
                _TAGS,
                _BEGIN,
                _END,
                Option("p", "print", "true: print the messages (false)"),
                Option("d", "printBody", "true: print their bodies too (false)"),
                Option("f", "calculate", "true: count the messages of each tag (false)"),
            ),
            print_queue,
        ),
        Command(
            "consumeMessage",
            (
                _TOPIC,
                Option("b", "brokerName", "only of this broker"),
                Option("i", "queueId", "only of this queue, with -b"),
                Option("o", "offset", "the first offset to read, with -i"),
                Option("g", "consumerGroup", "ignored: no group's offsets move"),
                Option("s", "beginTimestamp", f"stored then or later: {_MOMENTS}"),
                Option("e", "endTimestamp", f"stored then or before: {_MOMENTS}"),
                Option("c", "MessageNumber", "the most messages of each queue (128)"),
            ),
            read_some,
        ),
    )
}
