"""Runs `gantry produce`, which sends messages from the command line, standard input or a file.

Invariant: a message counts as sent only after a broker has acknowledged it; each failure is
reported by the number of its message. The input is read only as fast as brokers acknowledge.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, final

from gantrymq.base.errors import GantryError
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.line_input import LineInput, LineSource
from gantrymq.cli.frame.page import Page, Table, Text, members
from gantrymq.cli.stream.outcome_ledger import OutcomeLedger
from gantrymq.cli.stream.queue_option import queue_option
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.record_accumulator import WaitingFullError
from gantrymq.client.core.send.selecting import by_key
from gantrymq.wire.jsonvalue import JsonObject

if TYPE_CHECKING:
    from gantrymq.cli.frame.option import Options
    from gantrymq.cli.frame.stream import Stream
    from gantrymq.client.aio.machinery.sending import Sending
    from gantrymq.client.aio.producer import Producer
    from gantrymq.wire.bodies.shared import MessageQueue

# The number of messages of the command line that have a row each.
_ROWS_MAX: Final = 100
_AT_ONCE: Final = 1_000


async def produce(stream: Stream, options: Options) -> Page:
    bodies = [text.encode("utf-8", "surrogateescape") for text in options.several("body")]
    if bodies and options.maybe("file") is not None:
        raise UsageError("give the messages on the command line or in --file, not in both")
    template = _MessageTemplate(options)
    most = options.counted("count", len(bodies)) if bodies else _count(options)
    rate = None if options.maybe("rate") is None else options.seconds("rate", 1.0)
    ledger = OutcomeLedger(
        lambda line: stream.say(f"gantry produce: {line}"), _ROWS_MAX if bodies else 0
    )
    began = stream.now()
    async with stream.producer() as producer, _lines(stream, options, bodies) as batches:
        queue = await _queue(producer, options, template)
        loop = _SendLoop(stream, producer, template, queue, ledger)
        loop.keeps_going = options.is_set("keep-going")
        stream.pace.begin(most or 0)
        try:
            await loop.send_all(batches, most, rate)
        except asyncio.CancelledError:
            await producer.flush()
            stream.say(f"gantry produce: interrupted; {_summary(ledger, stream.now() - began)}")
            raise
        finally:
            stream.pace.end()
            ledger.tell()
    return _page(ledger, stream.now() - began)


def _count(options: Options) -> int | None:
    """Return the number of messages to send; None for all of the input."""
    return None if options.maybe("count") is None else options.counted("count")


# ---------------------------------------------------------------------- messages


@final
class _MessageTemplate:
    """Makes a message from each body. All messages have the same topic, tag, keys and so on."""

    def __init__(self, options: Options) -> None:
        self.topic = options.topic()
        self.order_by = options.maybe("order-by")
        self._tag = options.maybe("tag") or ""
        self._keys = options.several("key")
        self._delay_level = options.number("delay-level", 0)
        self._properties: dict[str, str] = {}
        for text in options.several("property"):
            name, is_given, value = text.partition("=")
            if not is_given:
                raise UsageError(f"--property must be NAME=VALUE, not {text!r}")
            self._properties[name] = value
        self.message(b"x")  # raises MessageError before any input is read

    def message(self, body: bytes) -> Message:
        """Return a message with this body. Raises MessageError."""
        return Message(
            self.topic,
            body,
            tag=self._tag,
            keys=self._keys,
            properties=self._properties,
            sharding_key=self.order_by or "",
            delay_level=self._delay_level,
        )


@asynccontextmanager
async def _lines(
    stream: Stream, options: Options, bodies: list[bytes]
) -> AsyncIterator[AsyncIterator[list[bytes]]]:
    file = options.maybe("file")
    if bodies:
        yield _repeated(bodies)
    elif file is None:
        yield _read(stream.source, options)
    else:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise UsageError(f"--file {file} is a folder; name a file")
            yield _read(LineInput(descriptor), options)
        finally:
            os.close(descriptor)


def _read(source: LineSource, options: Options) -> AsyncIterator[list[bytes]]:
    return source.whole() if options.is_set("whole") else source.batches()


async def _repeated(bodies: list[bytes]) -> AsyncIterator[list[bytes]]:
    """Yield the bodies again and again; the caller stops reading at its count."""
    several = bodies * max(1, _AT_ONCE // len(bodies))
    while True:
        yield several
        await asyncio.sleep(0)


async def _queue(
    producer: Producer, options: Options, template: _MessageTemplate
) -> MessageQueue | None:
    """Return the queue of all messages; None if they go to all queues.

    Raises UsageError, RouteError.
    """
    wanted = options.maybe("queue")
    if wanted is not None and template.order_by is not None:
        raise UsageError("--order-by and --queue exclude each other; give one of them")
    if wanted is None and template.order_by is None:
        return None
    queues = await producer.queues(template.topic)
    if wanted is None:
        return by_key(queues, template.message(b"x"), template.order_by)
    queue = queue_option(template.topic, wanted)
    if queue not in queues:
        raise UsageError(
            f"{template.topic} has no queue {wanted} to write;"
            f" gantry topicRoute -t {template.topic} -l shows its queues"
        )
    return queue


# ---------------------------------------------------------------------- sending


@final
class _SendLoop:
    """Sends batches of bodies with one producer."""

    def __init__(
        self,
        stream: Stream,
        producer: Producer,
        template: _MessageTemplate,
        queue: MessageQueue | None,
        ledger: OutcomeLedger,
    ) -> None:
        self.keeps_going = False
        self._stream = stream
        self._producer = producer
        self._mould = template
        self._queue = queue
        self._ledger = ledger
        self._taken = 0
        self._began = stream.now()

    async def send_all(
        self, batches: AsyncIterator[list[bytes]], most: int | None, rate: float | None
    ) -> None:
        """Send all bodies, and wait until each is acknowledged or has failed."""
        ledger, reported = self._ledger, 0
        async for bodies in batches:
            if most is not None and len(bodies) > most - self._taken:
                del bodies[most - self._taken :]
            for body in bodies:
                if rate is not None:
                    await self._wait_for_turn(rate)
                await self._send(body)
                if self._must_stop():
                    break
            self._stream.pace.advance(ledger.settled - reported)
            reported = ledger.settled
            if self._taken == most or self._must_stop():
                break
        await self._producer.flush()

    def _must_stop(self) -> bool:
        return self._ledger.has_broken and not self.keeps_going

    async def _wait_for_turn(self, rate: float) -> None:
        due = self._began + self._taken / rate
        if due > self._stream.now():
            await self._stream.sleep_until(due)

    async def _send(self, body: bytes) -> None:
        self._taken += 1
        number = self._taken
        try:
            sending = await self._accepted(self._mould.message(body))
        except GantryError as error:
            self._ledger.fail(number, error)
        else:
            sending.add_done_callback(partial(self._ledger.settle, number, len(body)))

    async def _accepted(self, message: Message) -> Sending:
        """Hand the message to the producer, once its buffer has room."""
        while True:
            try:
                return self._producer.send_async(message, queue=self._queue)
            except WaitingFullError:
                await self._producer.room()


# ---------------------------------------------------------------------- results


def _page(ledger: OutcomeLedger, seconds: float) -> Page:
    page = Page()
    if ledger.rows:
        rows = [
            (result.queue.broker_name, result.queue.queue_id, result.status.name, result.message_id)
            for _, result in sorted(ledger.rows, key=lambda row: row[0])
        ]
        titles = ("#Broker Name", "#QID", "#Send Result", "#MsgId")
        page.parts.append(Table("messages", titles, "%-32s  %-4s  %-20s    %s", rows))
    value: JsonObject = {
        "sent": ledger.sent,
        "failed": ledger.failed,
        "bytes": ledger.bytes,
        "seconds": round(seconds, 3),
        "unsafe": members(ledger.unsafe()),
    }
    page.parts.append(Text("summary", [_summary(ledger, seconds)], value))
    if ledger.failed:
        more = "; no message was sent after them" if ledger.has_broken else ""
        why = f"{ledger.failed} of {ledger.settled} messages were not acknowledged{more}"
        page.failures.append(CommandError(why))
    return page


def _summary(ledger: OutcomeLedger, seconds: float) -> str:
    text = f"sent {ledger.sent} messages of {ledger.bytes} bytes in {seconds:.2f} s"
    if seconds > 0:
        text += f", {ledger.sent / seconds:.0f} a second"
    unsafe = [f"{count} of them {name}" for name, count in ledger.unsafe().items()]
    return ", ".join([text, *unsafe])
