"""Runs `gantry consume` and `gantry tail`, which write messages as they arrive.

Invariant: a group's offsets cover only messages that were written. If the command is killed, the
group receives the other messages again. Without a group no offset moves.
"""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Final, Protocol

from gantrymq.base.bounds import LONG_MAX
from gantrymq.base.errors import RemoteError
from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.page import Page
from gantrymq.cli.message.message_text import body_text, one_line, to_json
from gantrymq.cli.stream.queue_option import queue_option
from gantrymq.client.aio.admin import Admin
from gantrymq.client.aio.pull_consumer import PullConsumer
from gantrymq.client.core.flow.flow_steps import FOREVER
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.group.subscriptions import EVERYTHING, Expression, Sql, subscription
from gantrymq.client.core.pull.topic_reader import Begin, Beginning, TopicReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gantrymq.cli.frame.option import Options
    from gantrymq.cli.frame.stream import Stream
    from gantrymq.client.core.message.received import ReceivedMessage

TEXT, JSON, BODY = "text", "json", "body"
_TITLES: Final = ("#Stored", "#Queue", "#Offset", "#Tag", "#Body")
_FORM: Final = "%-23s  %-20s  %10s  %-12s  %s"
_AT_ONCE: Final = 32

# Python refuses to convert numbers with very many digits.
_OFFSET_DIGITS: Final = len(str(LONG_MAX))

_CONSUME_FROM: Final = {
    Begin.FIRST: ConsumeFrom.FIRST_OFFSET,
    Begin.LAST: ConsumeFrom.LAST_OFFSET,
    Begin.MOMENT: ConsumeFrom.TIMESTAMP,
}


class _Source(Protocol):
    """Where the command reads messages: a topic, or a consumer group."""

    async def poll(self, timeout_s: float) -> list[ReceivedMessage]: ...

    async def give_back(self, message: ReceivedMessage) -> None:
        """Return this message and those after it in the last poll, without consuming them."""


async def consume(stream: Stream, options: Options) -> Page:
    most = None if options.maybe("count") is None else options.counted("count")
    idle_s = options.seconds("timeout", FOREVER)
    async with _source(stream, options, most or _AT_ONCE) as source:
        written = await _write_all(stream, source, most, idle_s)
    if most is None or written == most:
        return Page()
    why = f"{written} of {most} messages arrived, then none for {idle_s:g} s"
    return Page(failures=[CommandError(why)])


async def tail(stream: Stream, options: Options) -> Page:
    """Write new messages until the command is interrupted."""
    async with _reading(stream, options, Beginning(Begin.LAST)) as source:
        await _write_all(stream, source, None, FOREVER)
    return Page()


async def _write_all(stream: Stream, source: _Source, most: int | None, idle_s: float) -> int:
    """Write messages until there are enough, and return their number."""
    if stream.form == TEXT:
        await stream.output.write(f"{_FORM % _TITLES}\n".encode())
    written = 0
    while most is None or written < most:
        messages = await source.poll(idle_s)
        if not messages:
            break
        if most is not None and len(messages) > most - written:
            wanted = most - written
            await source.give_back(messages[wanted])
            del messages[wanted:]
        await stream.output.write(content(stream, stream.form, messages))
        written += len(messages)
    return written


# ---------------------------------------------------------------------- sources


def _source(stream: Stream, options: Options, most: int) -> AbstractAsyncContextManager[_Source]:
    now_ms = stream.environment.clock.wall_ms()
    group = options.maybe("consumerGroup")
    if group is None:
        return _reading(stream, options, _beginning(options.text("from", "first"), now_ms))
    beginning = _beginning(options.text("from", "last"), now_ms)
    if beginning.begin is Begin.OFFSET or options.maybe("queue") is not None:
        raise UsageError(
            "--from offset:N and --queue exclude --consumerGroup, because a group has its own"
            " offsets and queues; gantry resetOffsetByTime moves a group"
        )
    return _consuming(stream, options, beginning, min(most, _AT_ONCE))


def _beginning(text: str, now_ms: int) -> Beginning:
    if text in {"first", "last"}:
        return Beginning(Begin.FIRST if text == "first" else Begin.LAST)
    word, _, number = text.partition(":")
    if word == "offset":
        if not number.isdecimal():
            raise UsageError(f"--from offset:N needs a whole number, not {number!r}")
        if len(number) > _OFFSET_DIGITS or int(number) > LONG_MAX:
            raise UsageError(f"--from offset:N must be {LONG_MAX} at most")
        return Beginning(Begin.OFFSET, int(number))
    try:
        return Beginning(Begin.MOMENT, timestamps.parse(text, now_ms))
    except UsageError as error:
        raise UsageError(f"--from must be first, last, offset:N or a time; {error}") from None


def _expression(options: Options) -> Expression:
    tags, sql = options.maybe("filter"), options.maybe("sql")
    if tags is not None and sql is not None:
        raise UsageError("--filter (tags) and --sql (properties) exclude each other; give one")
    return Sql(sql) if sql is not None else tags or EVERYTHING


@asynccontextmanager
async def _reading(
    stream: Stream, options: Options, beginning: Beginning
) -> AsyncIterator[_Source]:
    """Read the topic without a group."""
    topic, wanted = options.topic(), options.maybe("queue")
    subscribed = subscription(topic, _expression(options), stream.environment.clock.wall_ms())
    queue = None if wanted is None else queue_option(topic, wanted)
    async with stream.admin() as admin:
        reader = TopicReader(
            admin.flows.instance,
            subscribed,
            beginning,
            wanted=lambda each: queue in {None, each},
        )
        await admin.run(reader.start())
        try:
            yield _TopicSource(admin, reader)
        finally:
            await admin.run(reader.close())


class _TopicSource:
    """Reads a topic without a group."""

    def __init__(self, admin: Admin, reader: TopicReader) -> None:
        self._admin = admin
        self._reader = reader

    async def poll(self, timeout_s: float) -> list[ReceivedMessage]:
        return await self._admin.run(self._reader.poll(timeout_s))

    async def give_back(self, message: ReceivedMessage) -> None:
        """Do nothing: without a group, reading moved no offset."""


@asynccontextmanager
async def _consuming(
    stream: Stream, options: Options, beginning: Beginning, at_once: int
) -> AsyncIterator[_Source]:
    """Read the topic as a member of a group."""
    topic = options.topic()
    consumer = PullConsumer(
        options.group("consumerGroup"),
        environment=stream.environment,
        pull_batch=at_once,
        consume_from=_CONSUME_FROM[beginning.begin],
        consume_timestamp_ms=beginning.value if beginning.begin is Begin.MOMENT else None,
        **stream.keywords,
    )
    consumer.subscribe(topic, _expression(options))
    async with consumer:
        await consumer.fetch_message_queues(topic)  # fails at once if the topic does not exist
        yield _GroupSource(consumer)


class _GroupSource:
    """Reads a topic as a member of a group."""

    def __init__(self, consumer: PullConsumer) -> None:
        self._consumer = consumer

    async def poll(self, timeout_s: float) -> list[ReceivedMessage]:
        return await self._consumer.poll(timeout_s)

    async def give_back(self, message: ReceivedMessage) -> None:
        if message.queue in self._consumer.assignment:
            await self._consumer.seek(message.queue, message.offset)


# ---------------------------------------------------------------------- formats


def content(stream: Stream, form: str, messages: list[ReceivedMessage]) -> bytes:
    """Return the messages as output. A message that cannot be decoded is reported and left out."""
    shown = {TEXT: _text, JSON: _json, BODY: _body}[form]
    lines = []
    for message in messages:
        try:
            lines.append(shown(message))
        except RemoteError as error:
            stream.say(f"gantry: message {message.id} of {message.queue} cannot be read: {error}")
    return b"".join(lines)


def _text(message: ReceivedMessage) -> bytes:
    place = f"{message.queue.broker_name}/{message.queue.queue_id}"
    stored = timestamps.millisecond(message.stored_ms)
    row = (stored, place, message.offset, one_line(message.tag), one_line(body_text(message)))
    return f"{_FORM % row}\n".encode("utf-8", "backslashreplace")


def _json(message: ReceivedMessage) -> bytes:
    # Python's own encoder is far quicker than javajson, and all values are plain.
    line = json.dumps(to_json(message), ensure_ascii=False, separators=(",", ":"))
    return f"{line}\n".encode("utf-8", "backslashreplace")


def _body(message: ReceivedMessage) -> bytes:
    return message.body + b"\n"
