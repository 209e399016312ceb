"""Runs `gantry bench`, which measures rates and latencies of sends and reads.

    produce         --tasks tasks, each of which awaits its sends one after another
    produce --soon  one task that gathers batches, as fast as brokers acknowledge them
    consume         reads the topic without a group, from the first message to the last
    both            reads messages while they are sent; the latency goes from send to read

Invariant: only acknowledged sends and messages that were read count, each with its latency. The
time goes from the first to the last of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from gantrymq.base.errors import GantryError
from gantrymq.cli.frame.failures import CommandError
from gantrymq.cli.frame.page import Cell, Page, Table
from gantrymq.cli.stream.latencies import Latencies
from gantrymq.client.core.group.subscriptions import EVERYTHING, subscription
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.pull.topic_reader import Begin, Beginning, TopicReader
from gantrymq.client.core.send.record_accumulator import WaitingFullError

if TYPE_CHECKING:
    from gantrymq.cli.frame.option import Options
    from gantrymq.cli.frame.stream import Stream
    from gantrymq.client.aio.admin import Admin
    from gantrymq.client.aio.machinery.sending import Sending
    from gantrymq.client.aio.producer import Producer
    from gantrymq.client.core.message.received import ReceivedMessage

_TICK_S: Final = 0.1
_PERCENTILES: Final = (0.5, 0.9, 0.99, 0.999)
_AT_ONCE: Final = 100
# With --soon: enough to keep brokers busy. More would only wait longer and raise the latency.
_WAITING_BYTES_MAX: Final = 4 << 20
_TASKS_MAX: Final = 10_000
_FAILURES_MAX: Final = 10
_AFTER_FAILURE_S: Final = 0.1
# The topic counts as read to its end when no message has come for this time.
_QUIET_S: Final = 1.0


@dataclass(slots=True)
class _Run:
    """The counts and latencies of one side: producing or consuming."""

    name: str
    count: int = 0
    bytes: int = 0
    seconds: float = 0.0
    latencies: Latencies = field(default_factory=Latencies)
    failures: dict[str, GantryError] = field(default_factory=dict)
    failed: int = 0

    def fail(self, error: GantryError) -> None:
        self.failed += 1
        if len(self.failures) < _FAILURES_MAX:  # one of each text, and only a few texts
            self.failures.setdefault(str(error), error)


async def bench(stream: Stream, options: Options) -> Page:
    what, seconds = options.text("what"), options.seconds("seconds", 10.0)
    sends, reads = _Run("produce"), _Run("consume")
    stream.pace.begin(round(seconds / _TICK_S))
    ticking = asyncio.create_task(_tick(stream))
    try:
        if what == "produce":
            await _produce(stream, options, sends, seconds)
            return _page([sends])
        if what == "consume":
            until = stream.now() + seconds
            async with _reader(stream, options.topic(), Begin.FIRST) as reading:
                await _consume(stream, reading, reads, lambda: stream.now() < until)
            return _page([reads])
        await _both(stream, options, (sends, reads), seconds)
        return _page([sends, reads])
    finally:
        ticking.cancel()
        stream.pace.end()


async def _both(stream: Stream, options: Options, runs: tuple[_Run, _Run], seconds: float) -> None:
    """Read all messages that are sent: start the reader first, and stop it last."""
    sends, reads = runs
    async with _reader(stream, options.topic(), Begin.LAST) as reading:
        sending = asyncio.create_task(_produce(stream, options, sends, seconds))
        try:
            await _consume(stream, reading, reads, lambda: True, is_over=sending.done)
            await sending
        finally:
            sending.cancel()


async def _tick(stream: Stream) -> None:
    while True:
        await stream.sleep_until(stream.now() + _TICK_S)
        stream.pace.advance()


# ---------------------------------------------------------------------- sending


async def _produce(stream: Stream, options: Options, run: _Run, seconds: float) -> None:
    message = Message(options.topic(), b"x" * options.body_size("size"))
    async with stream.producer(_WAITING_BYTES_MAX) as producer:
        await producer.send(message)  # not counted: it waits for the route and the connection
        began = stream.now()
        if options.is_set("soon"):
            await _send_async(stream, producer, message, run, began + seconds)
        else:
            tasks = options.counted("tasks", 64, most=_TASKS_MAX)
            sends = (_send(stream, producer, message, run, began + seconds) for _ in range(tasks))
            await asyncio.gather(*sends)
        run.seconds = stream.now() - began
    run.bytes = run.count * len(message.body)


async def _send(
    stream: Stream, producer: Producer, message: Message, run: _Run, until: float
) -> None:
    now = stream.now
    while (began := now()) < until:
        try:
            await producer.send(message)
        except GantryError as error:
            run.fail(error)
            await stream.sleep_until(now() + _AFTER_FAILURE_S)
        else:
            run.count += 1
            run.latencies.add(now() - began)


async def _send_async(
    stream: Stream, producer: Producer, message: Message, run: _Run, until: float
) -> None:
    while (began := stream.now()) < until:
        settle = partial(_settle, stream, run, began)
        try:
            for _ in range(_AT_ONCE):
                producer.send_async(message).add_done_callback(settle)
        except WaitingFullError:
            await producer.room()
        await asyncio.sleep(0)
    await producer.flush()


def _settle(stream: Stream, run: _Run, began: float, sending: Sending) -> None:
    try:
        sending.result()
    except GantryError as error:
        run.fail(error)
    else:
        run.count += 1
        run.latencies.add(stream.now() - began)


# ---------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reader of a topic, and when it began."""

    admin: Admin
    reader: TopicReader
    began: float
    began_ms: int

    async def poll(self) -> list[ReceivedMessage]:
        return await self.admin.run(self.reader.poll(_QUIET_S))


@asynccontextmanager
async def _reader(stream: Stream, topic: str, begin: Begin) -> AsyncIterator[_Reading]:
    began_ms = stream.environment.clock.wall_ms()
    subscribed = subscription(topic, EVERYTHING, began_ms)
    async with stream.admin() as admin:
        reader = TopicReader(admin.flows.instance, subscribed, Beginning(begin))
        await admin.run(reader.start())
        try:
            yield _Reading(admin, reader, stream.now(), began_ms)
        finally:
            await admin.run(reader.close())


async def _consume(
    stream: Stream,
    reading: _Reading,
    run: _Run,
    goes_on: Callable[[], bool],
    *,
    is_over: Callable[[], bool] = lambda: True,
) -> None:
    """Read while `goes_on`. End early if a poll that began after the sends were over is empty."""
    while goes_on():
        was_over = is_over()
        messages = await reading.poll()
        if not messages:
            if was_over:
                break
            continue
        run.seconds = stream.now() - reading.began
        now_ms = stream.environment.clock.wall_ms()
        for message in messages:
            run.count += 1
            run.bytes += len(message.record.body)
            if message.born_ms >= reading.began_ms:
                run.latencies.add((now_ms - message.born_ms) / 1000)


# ---------------------------------------------------------------------- results


def _page(runs: list[_Run]) -> Page:
    titles = [
        *("#What", "#Messages", "#Failed", "#Seconds", "#PerSecond", "#MiBPerSecond"),
        *(f"#P{share * 100:g}(ms)" for share in _PERCENTILES),
        "#Max(ms)",
    ]
    form = "%-8s  %12d  %8d  %8.2f  %10.0f  %13.2f" + "  %10.2f" * (len(_PERCENTILES) + 1)
    page = Page([Table("runs", titles, form, [_row(run) for run in runs])])
    for run in runs:
        page.failures += [*run.failures.values()]
        if not run.count:
            page.failures.append(CommandError(f"{run.name}: no message succeeded"))
    return page


def _row(run: _Run) -> tuple[Cell, ...]:
    seconds = run.seconds or 1.0
    percentiles = [run.latencies.percentile(share) for share in _PERCENTILES]
    milliseconds = [round(each * 1000, 3) for each in (*percentiles, run.latencies.max_s)]
    rates = (round(run.count / seconds, 1), round(run.bytes / seconds / (1 << 20), 3))
    return (run.name, run.count, run.failed, round(run.seconds, 3), *rates, *milliseconds)
