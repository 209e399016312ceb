"""Runs one life of a simulated store: it opens on a disk, does its steps, and ends.

Every answer is compared with the ledger at once: positions and times, pulled messages, and queues
that are reported to have new messages. What the store acknowledges is noted in the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import DiskError
from gantrymq.sim.store.store_audit import audit, found
from gantrymq.sim.store.store_ledger import Ledger, Message
from gantrymq.sim.store.store_script import (
    Cool,
    Delete,
    DeleteTopic,
    Fail,
    Fill,
    Finish,
    Life,
    Pull,
    Put,
    SetClock,
    Settle,
    Step,
    Wait,
)
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.engine import Store
from gantrymq.store.layout import ABORT
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import Pulled, PullQuery, PullStatus
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.settings import FlushDiskType
from gantrymq.store.turn_result import TurnResult
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_background import MemoryBackground

DISK_BYTES: Final = 1 << 20

# Less than a life writes, so that reads have to look further.
TAIL_BYTES: Final = 3000

# More turns than any store here needs to have nothing left to do.
TURNS_MAX: Final = 300

HOUR: Final = 4


@final
@dataclass
class Clock:
    """The wall clock, which continues over all lives."""

    wall_ms: int = 1_700_000_000_000
    names: int = 20_261_121_000_000_000

    def new_index_name(self) -> str:
        self.names += 1
        return str(self.names)


@final
@dataclass
class Waiting:
    """A put that is not answered yet."""

    messages: Sequence[Message]
    waits: bool


@final
class Running:
    """One life of the store: it runs the steps and checks the answers. The history owns it."""

    def __init__(
        self, disk: FaultyDisk, life: Life, ledger: Ledger, clock: Clock, tally: Counter[str]
    ) -> None:
        self.disk = disk
        self.ledger = ledger
        self.clock = clock
        self.tally = tally
        self.now = 0.0
        self.background = MemoryBackground(disk)
        self.store = Store(
            disk,
            self.background,
            life.settings,
            new_index_name=clock.new_index_name,
            local_hour=lambda _: HOUR,
            tail_bytes=TAIL_BYTES,
        )
        self.waiting: dict[int, Waiting] = {}
        self.pulls: dict[int, PullQuery] = {}
        self.readable = 0
        self.start = 0
        self.is_sync = life.settings.flush_disk_type is FlushDiskType.SYNC_FLUSH

    def open(self) -> None:
        """Recover the store, and note in the ledger what it found."""
        was_clean = not any(entry.name == ABORT for entry in self.disk.list(""))
        for _ in self.store.open(self.now):
            pass
        self.ledger.settle(found(self.store, self.ledger))
        self.note_deleted()
        self.ledger.deleting.clear()
        self.start = self.store.log.start
        self.readable = self.store.readable
        assert self.readable == self.store.log.end, "not all of the log is readable"
        report = self.store.report
        assert report.is_clean <= was_clean, "a crash was taken for a clean stop"
        if report.is_clean and report.is_marked and not self.ledger.is_damaged:
            is_idle = report.walked_bytes == report.rewritten_bytes == 0
            is_idle &= not report.rebuilt_queues and report.rebuilt_index_from < 0
            assert is_idle, f"work after a clean stop: {report}"
        self.ledger.is_damaged = self.ledger.had_power_cut = False
        self.tally["clean starts" if report.is_clean else "recoveries"] += 1
        self.tally["rebuilt queues"] += len(report.rebuilt_queues)
        self.tally["rebuilt index"] += report.rebuilt_index_from >= 0

    def audit(self, *, is_fresh: bool = False) -> None:
        """Compare the whole store with the whole ledger."""
        if self.store.dispatch_behind == 0 and not self.store.index.missed:
            audit(self.store, self.ledger, is_fresh=is_fresh)

    # ------------------------------------------------------------------ steps

    def do(self, step: Step) -> None:
        match step:
            case Put():
                self.put(step)
            case Wait(seconds):
                self.pass_time(seconds)
                self.turn()
            case Finish(everything):
                if everything:
                    self.background.complete_all()
                else:
                    self.background.complete_some(self.disk.choose)
                self.turn()
            case Settle():
                self.settle()
            case Pull():
                self.pull(step)
            case Delete():
                assert self.store.retention is not None
                self.store.retention.delete_now()
                self.turn()
            case DeleteTopic(topic):
                self.delete_topic(topic)
            case Fill() | Fail() | Cool() | SetClock():
                self.befall(step)

    def befall(self, mishap: Fill | Fail | Cool | SetClock) -> None:
        match mishap:
            case Fill(free_bytes):
                memory = self.disk.memory
                used = memory.total_bytes - memory.storage.free_bytes
                memory.total_bytes = DISK_BYTES if free_bytes is None else used + free_bytes
                self.tally["full disks"] += free_bytes is not None
            case Fail(operation, failure):
                self.disk.fail(operation, failure)
            case Cool():
                self.disk.memory.cool()
            case SetClock(by_ms):
                self.clock.wall_ms += by_ms

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.clock.wall_ms += int(seconds * 1000)
        self.disk.memory.now_ms = self.clock.wall_ms

    def put(self, step: Put) -> None:
        group: list[Message] = []
        for sending in step.sendings:
            messages = [self.ledger.message(sending) for _ in range(sending.count)]
            records = [message.record for message in messages]
            if len(records) == 1:
                taken = self.store.put(records[0], waits=sending.waits)
            else:
                taken = self.store.put_batch(records, waits=sending.waits)
            if isinstance(taken, Refused):
                self.tally["refused puts"] += 1
                continue
            self.waiting[taken] = Waiting(messages, sending.waits)
            group += messages
        self.turn(group)

    def turn(self, group: Sequence[Message] = ()) -> None:
        """Run the turn that writes this group."""
        try:
            turn = self.store.turn(self.now, self.clock.wall_ms)
        except BaseException:
            self.note_start()
            if group and self.store.log.end >= group[-1].position + group[-1].record.size:
                self.ledger.accept(group)
            elif group:
                self.ledger.untrusted_reason(group)
            raise
        self.note_start()
        if group:
            self.take_group(turn, group)
        self.note_deleted()
        self.take(turn)

    def delete_topic(self, topic: str) -> None:
        """Cancel pulls of this topic, because their results are not defined."""
        for key in [key for key, query in self.pulls.items() if query.topic == topic]:
            self.store.reader.cancel(key)
            del self.pulls[key]
        self.ledger.deleting.add(topic)
        self.store.delete_topic(topic)
        self.turn()

    def note_deleted(self) -> None:
        """Note which topics are deleted by now."""
        for topic in self.ledger.deleting.difference(self.store.queues.topics()):
            had_messages = any(topic in (each.queue or ()) for each in self.ledger.timeline)
            self.tally["deleted topics"] += had_messages
            self.ledger.forget(topic)

    def note_start(self) -> None:
        self.ledger.deleted_below = max(self.ledger.deleted_below, self.store.log.start)

    def take_group(self, turn: TurnResult, group: Sequence[Message]) -> None:
        first = next(
            number for number, each in self.waiting.items() if each.messages[0] is group[0]
        )
        refused = {answer.number for answer in turn.answers if not answer.status.is_stored}
        if first in refused:
            self.ledger.untrusted_reason(group)
            self.tally["refused groups"] += 1
        else:
            self.ledger.accept(group)
            self.tally["messages"] += len(group)
            again = {each.sent[0].decode() for each in group} & self.ledger.deleted
            self.tally["messages of topics made again"] += bool(again)

    def take(self, turn: TurnResult) -> None:
        """Check the results of a turn: answers, arrivals and finished reads."""
        for answer in turn.answers:
            self.take_answer(answer)
        self.take_arrived(turn.arrived)
        for reading in turn.finished_reads:
            query = self.pulls.pop(reading.key)
            if reading.error is None:
                assert isinstance(reading.result, Pulled)
                self.take_pulled(query, reading.result)
            else:
                assert isinstance(reading.error, DiskError), reading.error
        flushes = self.store._flushes
        if flushes is not None:
            self.ledger.promise(flushes.flusher.flushed.position)

    def take_answer(self, answer: PutAnswer) -> None:
        put = self.waiting.pop(answer.number)
        if not answer.status.is_stored:
            assert answer.remark
            return
        self.tally[answer.status.name] += 1
        assert answer.positions == [message.position for message in put.messages]
        first = put.messages[0].record
        told = (answer.queue_offset, answer.store_timestamp_ms)
        assert told == (first.queue_offset, first.store_timestamp_ms)
        if self.is_sync and put.waits and answer.status is PutStatus.PUT_OK:
            self.ledger.promise(put.messages[-1].end)

    def take_arrived(self, arrived: Sequence[tuple[str, int]]) -> None:
        readable = self.store.readable
        assert readable >= self.readable, "consumers see less than before"
        first, last = self.ledger.count_below(self.readable), self.ledger.count_below(readable)
        queues = {message.queue for message in self.ledger.timeline[first:last]} - {None}
        gone = {queue for queue in arrived if queue[0] in self.ledger.deleted} - queues
        assert set(arrived) - gone == queues, f"arrived: {arrived}, not {queues}"
        self.readable = readable
        if self.is_sync:
            self.ledger.promise(readable)

    def settle(self) -> None:
        """Run turns until the store has no work now. A store that always has work would spin."""
        for _ in range(TURNS_MAX):
            is_busy = bool(self.background.jobs)
            self.background.complete_all()
            self.turn()
            if not is_busy and not self.background.jobs and self.store.deadline() > self.now:
                return
        raise AssertionError("the store has always something to do")

    # ------------------------------------------------------------------ consumers

    def pull(self, step: Pull) -> None:
        if step.topic in self.ledger.deleting:
            return
        queue = self.store.queues.find(step.topic, step.queue_id)
        offset = max(0, queue.end - step.behind) if queue else 0
        query = PullQuery(step.topic, step.queue_id, offset, 3)
        key = len(self.pulls) + 1 + max(self.pulls, default=0)
        self.pulls[key] = query
        self.store.reader.start(key, pull(self.store, query, 1 << 14))
        self.turn()

    def take_pulled(self, query: PullQuery, pulled: Pulled) -> None:
        messages = self.ledger.by_queue().get((query.topic, query.queue_id), [])
        assert pulled.maximum <= len(messages)
        if pulled.status is not PullStatus.FOUND:
            return
        self.tally["pulls"] += 1
        part = messages[query.offset : pulled.next_offset]
        assert b"".join(pulled.chunks) == b"".join([message.data for message in part])
        if self.is_sync:
            self.ledger.promise(part[-1].end)

    # ------------------------------------------------------------------ the end

    def be_at_rest(self) -> None:
        """Assert that everything is on disk and that the flush positions show it."""
        flushes = self.store._flushes
        assert flushes is not None
        assert not flushes.failure
        positions, end = flushes.positions, self.store.log.end
        assert positions.log.position == positions.queues == end, (
            f"{positions}, but the log ends at {end}"
        )
        if self.store.settings.message_index_enable:
            assert positions.index == end, f"{positions}, but the log ends at {end}"

    def close(self) -> None:
        """Stop the store cleanly; all waiting sends are answered."""
        turn = self.store.close(self.now, self.clock.wall_ms)
        self.note_start()
        self.readable = self.store.readable
        for answer in turn.answers:
            self.take_answer(answer)
        assert not self.waiting, f"no answer: {list(self.waiting)}"
        if any(entry.name == ABORT for entry in self.disk.list("")):
            self.tally["stops that were not clean"] += 1
        else:
            self.ledger.durable = len(self.ledger.timeline)
            self.tally["clean stops"] += 1

    def count(self) -> None:
        """Count further events of this life."""
        store, tally = self.store, self.tally
        tally["deleted files of the log"] += store.log.start > self.start
        tally["index files, several"] += len(store.index.files) > 1
        queues = [queue for queue in store.queues.opened() if queue.files_end > queue.start]
        tally["queue files deleted"] += any(queue.start for queue in queues)
        positions = store._flushes and store._flushes.positions
        if positions:
            tally["queues marked"] += positions.queues > 0
            tally["index marked"] += positions.index > 0
            tally["log marked"] += positions.log.position > 0
