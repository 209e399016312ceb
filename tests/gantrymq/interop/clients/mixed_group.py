"""Runs one consumer group of Java's clients and Gantry's, whose members join, leave and are killed.

Numbered messages are sent throughout, to each queue in turn. The messages of each member are in its
diary, a file that outlives its process:

    milliseconds queue offset number

Between two changes the group is settled: every member reports its queues, and the messages that it
receives must agree with the report.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from gantrymq.client import Admin, ClientError, MessageQueue
from gantrymq.client.core.group.allocation import Allocate, in_order
from gantrymq.interop.child import wait_until
from gantrymq.interop.clients.clients import Client
from gantrymq.interop.clients.stage import ARRIVE_SECONDS, Consumer, Message, Stage, now_ms
from gantrymq.interop.servers import Broker
from gantrymq.remoting.failures import RequestError
from gantrymq.wire.jsonvalue import object_of

QUEUES: Final = 8
PAUSE_SECONDS: Final = 0.1  # between rounds of sends
ROUNDS: Final = 40  # while a group is settled
# A Java member that leaves an orderly group sometimes locks its queues once more; that lock
# expires.
LOCK_SECONDS: Final = 60.0
# Messages consumed while a queue changes its owner are committed by then, or delivered again by
# then.
HANDOVER_MS: Final = 2000


@dataclass(frozen=True, slots=True)
class Entry:
    """One delivery."""

    member: str
    at_ms: int
    queue: int
    offset: int
    number: int


@dataclass(frozen=True, slots=True)
class Settled:
    """A period without changes, with the queues of each member."""

    begin_ms: int
    end_ms: int
    owner: Mapping[int, str]


class Diary:
    """The diary of one member, which grows while it is read."""

    def __init__(self, member: str, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self._member = member
        self._at = 0

    def read(self) -> list[Entry]:
        """All entries that it has now."""
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self._at)
                for line in file:
                    if line.endswith(b"\n"):  # otherwise the line is still being written
                        self._at += len(line)
                        self.entries.append(Entry(self._member, *map(int, line.split())))
        return self.entries


class MixedGroup:
    """A context manager: call `join`, `leave` and `killed`, each followed by `settle`; then
    `finish`, and check."""

    def __init__(
        self, broker: Broker, name: str, folder: Path, strategy: str, *, orderly: bool
    ) -> None:
        self.group, self.topic = f"mixed-{name}", f"mixed-topic-{name}"
        self.settled: list[Settled] = []
        self._broker = broker
        self._folder = folder
        self._options = {"strategy": strategy, "orderly": orderly}
        self._members: dict[str, Consumer] = {}
        self._diaries: list[Diary] = []
        self._sent = 0
        self._is_sending = True
        self._sender = threading.Thread(target=self._send)
        self._failure: Exception | None = None
        broker.create_topic(self.topic, QUEUES)

    # ------------------------------------------------------------------ members

    def join(self, name: str, client: Client) -> None:
        """Add a member."""
        stage = Stage(client, self._broker, f"{self.group}-{name}")
        diary = Diary(name, self._folder / name)
        self._diaries.append(diary)
        self._members[name] = stage.consumer(
            self.topic, group=self.group, diary=str(diary.path), **self._options
        )

    def leave(self, name: str) -> None:
        """Stop a member cleanly."""
        self._members.pop(name).stop()

    def killed(self, name: str) -> None:
        """Record that a member's process was killed."""
        del self._members[name]

    # ------------------------------------------------------------------ sending

    def start_sending(self, client: Client) -> None:
        """Send from now on, until `finish`."""
        self._producer = Stage(client, self._broker, f"{self.group}-sender").producer()
        self._sender.start()

    def _send(self) -> None:
        try:
            while self._is_sending:
                first = self._sent
                self._producer.send(
                    [
                        Message(self.topic, str(n), properties={"shard": str(n % QUEUES)})
                        for n in range(first, first + QUEUES)
                    ],
                    "select",
                )
                self._sent += QUEUES
                time.sleep(PAUSE_SECONDS)
        except Exception as error:
            self._failure = error

    def finish(self) -> None:
        """Stop sending, and wait until all sent messages have arrived; then all members leave."""
        self._stop_sending()
        if self._failure is not None:
            raise self._failure
        wait_until(
            lambda: self._numbers() >= set(range(self._sent)),
            "all that was sent has come",
            ARRIVE_SECONDS,
        )
        for name in list(self._members):
            self.leave(name)
        self._producer.stop()

    def _stop_sending(self) -> None:
        self._is_sending = False
        if self._sender.is_alive():
            self._sender.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop_sending()

    # ------------------------------------------------------------------ assignment

    def settle(self, allocate: Allocate) -> None:
        """Wait until the queues are assigned as the strategy says, and record a settled period."""
        queues = [
            MessageQueue(self.topic, self._broker.broker_name, number) for number in range(QUEUES)
        ]

        def is_shared_out() -> bool:
            try:
                told = asyncio.run(self._told())
            except (ClientError, RequestError):  # no member is there yet, or one has just left
                return False
            clients = in_order(told)
            shares = {each: allocate(each, queues, clients) for each in clients}
            return len(clients) == len(self._members) and told == shares

        seconds = ARRIVE_SECONDS + LOCK_SECONDS
        wait_until(is_shared_out, f"{self.group} is shared out", seconds)
        begin_ms = now_ms()
        more = set(range(self._sent, self._sent + ROUNDS * QUEUES))
        wait_until(lambda: more <= self._numbers(), "what is sent then has come", ARRIVE_SECONDS)
        told = asyncio.run(self._told())
        owner = {queue.queue_id: self._name(client) for client in told for queue in told[client]}
        assert sorted(owner) == list(range(QUEUES))
        self.settled.append(Settled(begin_ms, now_ms(), owner))

    async def _told(self) -> dict[str, list[MessageQueue]]:
        """The queues of each member, as it reports them to the broker."""
        address = self._broker.address
        async with Admin(name_servers=self._broker.name_server_addresses) as admin:
            found = {}
            for each in (await admin.connections.consumers_at(address, self.group)).connections:
                told = await admin.connections.running(address, self.group, each.client_id)
                queues = map(MessageQueue.from_key, object_of(told["mqTable"], "mqTable"))
                found[each.client_id] = sorted(one for one in queues if one.topic == self.topic)
            return found

    def _name(self, client_id: str) -> str:
        """The member's name in a client id: `address@name of the client object` contains it."""
        (name,) = [each for each, consumer in self._members.items() if consumer.name in client_id]
        return name

    # ------------------------------------------------------------------ what came

    def entries(self) -> list[Entry]:
        """The entries of all diaries, in the order of arrival."""
        found = [each for diary in self._diaries for each in diary.read()]
        return sorted(found, key=lambda each: each.at_ms)

    def _numbers(self) -> set[int]:
        return {each.number for diary in self._diaries for each in diary.read()}

    def repeated(self) -> list[Entry]:
        """The deliveries of messages that had arrived before."""
        seen: set[int] = set()
        again = []
        for each in self.entries():
            if each.number in seen:
                again.append(each)
            seen.add(each.number)
        return again


def assert_shared_without_overlap(group: MixedGroup) -> None:
    """While the group was settled, every queue's messages went to its owner, once."""
    entries = group.entries()
    for settled in group.settled:
        within = [each for each in entries if settled.begin_ms <= each.at_ms <= settled.end_ms]
        assert {each.queue for each in within} == set(settled.owner)
        wrong = [each for each in within if settled.owner[each.queue] != each.member]
        assert wrong == []
        late_ms = settled.begin_ms + HANDOVER_MS
        assert [each for each in group.repeated() if late_ms < each.at_ms < settled.end_ms] == []


def assert_in_order(group: MixedGroup) -> None:
    """The first deliveries of each queue's messages are in order, and so are the repeated ones."""
    by_place: dict[int, list[Entry]] = {}
    for each in group.entries():
        by_place.setdefault(each.queue, []).append(each)
    for entries in by_place.values():
        seen: Counter[int] = Counter()
        newest = -1
        for each in entries:
            if not seen[each.offset]:
                assert each.offset == newest + 1, each
                newest = each.offset
            seen[each.offset] += 1
