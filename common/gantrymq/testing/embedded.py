"""Runs a name server and a broker inside the test's process, in virtual time.

    broker = EmbeddedBroker()
    async with Producer("group", environment=broker, name_servers=broker.name_servers) as producer:
        await producer.send(Message("orders", b"late", delay_s=7200))
        await broker.expect("orders", [])
        await broker.advance(hours=2)
        await broker.expect("orders", [b"late"])

Broker and store are the real ones; only sockets and disk are replaced. The object is also the
`Environment` of the clients: all their waiting goes by its clock, which moves only when the test
calls `advance`, `run` or an expectation with `within_s`. Invariant: events happen in the order of
their time, and the clock moves on only when everything that is due now has happened. So every run
of a test is the same.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar, final

from gantrymq.broker.core.broker import FAST_LISTENER
from gantrymq.broker.core.context import Identity as BrokerIdentity
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.client.aio.machinery.environment import Identity, Serve
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.runtime.clock import VirtualClock
from gantrymq.testing.expectation import Progress, mismatch, progress_of, unconsumed
from gantrymq.testing.idleness import settle_loop
from gantrymq.testing.memory_links import MemoryLinks, MemoryServer
from gantrymq.testing.memory_servers import STORE_SETTINGS, BrokerInMemory, NameServerInMemory
from gantrymq.testing.stall import Stall
from gantrymq.testing.stored_messages import messages_of
from gantrymq.testing.timeline import Alarm, Timeline
from gantrymq.wire.command import Command

T = TypeVar("T")

NAME_SERVER: Final = "127.0.0.1:9876"
BROKER: Final = "127.0.0.1:10911"
BROKER_FAST: Final = "127.0.0.1:10909"
HIGH_AVAILABILITY: Final = "127.0.0.1:10912"
DEAD_LETTERS: Final = "%DLQ%"

# The limit of `run`: work that needs more virtual time waits for an event that will not come.
RUN_SECONDS_MAX: Final = 86_400.0


@final
class EmbeddedBroker:
    """One broker with its name server, and the environment of the clients that use them."""

    def __init__(self, settings: BrokerSettings | None = None) -> None:
        """The default settings create a topic when its first message arrives."""
        self.timeline = Timeline()
        self.chance: Callable[[int], int] = random.Random(0).randrange  # noqa: S311 - repeats
        self.files: dict[str, bytes] = {}
        """The files that clients saved, such as the offsets of broadcast consumers."""
        self.pages: dict[str, str] = {}
        """The text that clients get from each URL."""
        self._names = NameServerInMemory(self.timeline)
        self._broker = BrokerInMemory(
            self.timeline,
            self._names,
            BrokerIdentity("broker-a", "DefaultCluster", 0, BROKER, HIGH_AVAILABILITY),
            settings or BrokerSettings(auto_create_topic_enable=True),
            STORE_SETTINGS,
        )
        self._hosts = (f"10.0.{n >> 8}.{n & 255}" for n in itertools.count(1))
        self._is_stirred = False
        self._is_reachable = True
        self._is_moving = False
        self._stall = Stall(lambda: self.now)

    # ------------------------------------------------------------------ for clients

    @property
    def name_servers(self) -> str:
        """The addresses that a test passes to its clients."""
        return NAME_SERVER

    @property
    def clock(self) -> VirtualClock:
        return self.timeline.clock

    def call_at(self, moment: float, action: Callable[[], None]) -> Alarm:
        def call() -> None:
            self._is_stirred = True
            action()

        self._stall.watch()
        return self.timeline.call_at(moment, call)

    def links(self, identity: Identity, serve: Serve) -> MemoryLinks:
        return MemoryLinks(self, identity, serve, next(self._hosts))

    async def fetch(self, url: str, timeout_s: float) -> str:
        del timeout_s
        if url not in self.pages:
            raise OSError(f"nothing is at {url}")
        return self.pages[url]

    async def load_file(self, path: str) -> bytes | None:
        return self.files.get(path)

    async def save_file(self, path: str, content: bytes) -> None:
        self.files[path] = content

    # ------------------------------------------------------------------ time

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self.timeline.now

    async def advance(
        self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0
    ) -> None:
        """Move the clock by this span; everything that is due until then happens, in its order."""
        span = seconds + 60.0 * minutes + 3600.0 * hours + 86_400.0 * days
        await self._move_to(self.now + span, lambda: False)

    async def settle(self) -> None:
        """Let everything happen that is due now, without moving the clock."""
        await self.advance()

    async def sleep(self, seconds: float) -> None:
        """Wait in virtual time, for example in a listener; only another task can move the clock."""
        woken = asyncio.Event()
        alarm = self.call_at(self.now + seconds, woken.set)
        try:
            await woken.wait()
        finally:
            alarm.cancel()

    async def run(self, work: Awaitable[T], *, seconds_max: float = RUN_SECONDS_MAX) -> T:
        """The result of `work`, while the clock moves as far as it needs. Without `run`, `await
        consumer.poll(5.0)` would wait for ever."""
        task = asyncio.ensure_future(work)
        try:
            await self._move_to(self.now + seconds_max, task.done)
            assert task.done(), f"{work!r} has not ended after {seconds_max:g} s of virtual time"
            return await task
        finally:
            task.cancel()

    async def _move_to(self, end: float, is_enough: Callable[[], bool]) -> None:
        assert not self._is_moving, "two tasks move the clock at once; only one may"
        self._is_moving = True
        try:
            await settle_loop(self._take_stirred)
            while not is_enough() and (due := self._next_moment()) <= end:
                self.timeline.go_to(max(due, self.now))
                self._servers_turn()
                if self._take_stirred():
                    await settle_loop(self._take_stirred)
            if not is_enough():
                self.timeline.go_to(end)
        finally:
            self._is_moving = False

    def _next_moment(self) -> float:
        return min(self.timeline.next_moment(), self._broker.deadline(), self._names.deadline())

    def _servers_turn(self) -> None:
        if self._broker.deadline() <= self.now:
            self._broker.turn()
        if self._names.deadline() <= self.now:
            self._names.turn()

    def _take_stirred(self) -> bool:
        is_stirred, self._is_stirred = self._is_stirred, False
        return is_stirred

    # ------------------------------------------------------------------ topics and messages

    def create_topic(self, topic: str, *, queues: int = 4, attributes: str = "") -> str:
        """Create the topic as `mqadmin updateTopic` does; returns its name."""
        self._broker.create_topic(topic, queues, attributes)
        return topic

    def messages(self, topic: str) -> list[ReceivedMessage]:
        """The messages that consumers of the topic find, oldest first; empty if it is unknown."""
        return messages_of(self._broker.store, self._broker.identity.name, topic)

    def dead_letters(self, group: str) -> list[ReceivedMessage]:
        """The dead-letter messages of the group."""
        return self.messages(DEAD_LETTERS + group)

    def progress(self, group: str, topic: str) -> Progress:
        """The consumed and the stored messages, by the offsets that the group has committed."""
        return progress_of(self._broker.state, group, topic)

    async def expect(
        self,
        topic: str,
        bodies: Sequence[bytes],
        *,
        within_s: float = 0.0,
        in_order: bool = False,
    ) -> list[ReceivedMessage]:
        """Assert that the topic has exactly these messages, now or within so many seconds.

        The clock moves until the assertion holds. With `in_order` the messages must also have been
        stored in this order, across all queues.
        """

        def fault() -> str | None:
            return mismatch(self._broker.core, topic, bodies, in_order=in_order)

        await self._must_become_true(fault, within_s)
        return self.messages(topic)

    async def expect_dead_letters(
        self, group: str, bodies: Sequence[bytes], *, within_s: float = 0.0
    ) -> list[ReceivedMessage]:
        """Assert that the group has exactly these dead-letter messages."""
        return await self.expect(DEAD_LETTERS + group, bodies, within_s=within_s)

    async def expect_consumed(self, group: str, topic: str, *, within_s: float = 60.0) -> None:
        """Assert that the group has consumed every message of the topic and committed its offsets,
        which consumers do every few seconds."""
        await self._must_become_true(lambda: unconsumed(self._broker.core, group, topic), within_s)

    async def _must_become_true(self, fault: Callable[[], str | None], within_s: float) -> None:
        await self.settle()
        began = self.now
        await self._move_to(began + within_s, lambda: fault() is None)
        if (text := fault()) is not None:
            waited = f" within {within_s:g} s" if within_s else ""
            raise AssertionError(f"{text}\n  now: {self.now:g} s after the start{waited}")

    # ------------------------------------------------------------------ trouble

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        """Make the broker unreachable in this block; the name server keeps its routes."""
        self._is_reachable = False
        try:
            yield
        finally:
            self._is_reachable = True

    # ------------------------------------------------------------------ where links end

    def listening(self, address: str) -> tuple[MemoryServer, str] | None:
        if address == NAME_SERVER:
            return self._names, "internal"
        if address == BROKER and self._is_reachable:
            return self._broker, "internal"
        if address == BROKER_FAST and self._is_reachable:
            return self._broker, FAST_LISTENER
        return None

    def stirred(self) -> None:
        self._is_stirred = True

    def client_answered(self, number: int, response: Command | None) -> None:
        self._broker.client_answered(number, response)
