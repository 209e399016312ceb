"""Provides the message store of one broker: commit log, consume queues and index, driven by turns.

    start    for progress in store.open(now): ...
    turn     store.put(message) ...; turn = store.turn(now, wall_ms); sleep to store.deadline()
    stop     turn = store.close(now, wall_ms)

One turn takes the completions of background I/O, writes the messages put since the last turn as one
group, dispatches them to queues and index, and advances the flushes. It returns the answers to
sends, the queues that have new messages for consumers, and the reads that have ended.

A store either accepts messages (on a master) or is a copy of a master's log (on a slave). `lead`
and `follow` switch between the two while the store is open.

Invariants. Each put is answered exactly once, and not before the guarantee of flushDiskType holds.
Consumers see only records below `readable`. A message that was put but not yet written is never
written once the store has become a copy. While units cannot be stored, the store accepts no
messages, so the queues are never more than one group behind the log. After a failed sync this turn
and all later ones raise SyncFailedError: the store answers nothing any more, and the process must
end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import Background, Disk, DiskError
from gantrymq.base.errors import GantryError, LocalError
from gantrymq.metrics.histogram import Histogram
from gantrymq.store.append.kernel import Fed, Kernel
from gantrymq.store.append.replica_appender import CopyRefused, ReplicaAppender
from gantrymq.store.append.waiters import Waiters
from gantrymq.store.append.write_batcher import Pending, WriteBatcher
from gantrymq.store.append.write_group import TopicSize
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.tail import TAIL_BYTES
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.consumequeue.replaced_queues import ReplacedQueues
from gantrymq.store.dispatch.deletions import Deletions
from gantrymq.store.dispatch.dispatch import Dispatcher
from gantrymq.store.dispatch.dispatch_notifier import DispatchNotifier
from gantrymq.store.files.checkpoint import CheckpointFile
from gantrymq.store.files.directory_lock import DirectoryLock
from gantrymq.store.files.flush_positions import FlushPositionsFile
from gantrymq.store.files.reserve import Reserve
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.progress import ProgressTask
from gantrymq.store.read.async_reader import AsyncReader
from gantrymq.store.read.topic_ages import TopicAges
from gantrymq.store.read.work_meter import WorkMeter, standing
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.message_checks import check_batch, check_message
from gantrymq.store.record.put_status import UNAVAILABLE, PutStatus, Refused
from gantrymq.store.recovery.flush_coordinator import FlushCoordinator
from gantrymq.store.recovery.recovery import Recovery
from gantrymq.store.recovery.recovery_state import Parts, Report
from gantrymq.store.retention.disk_watch import DiskWatch
from gantrymq.store.retention.retention import Retention
from gantrymq.store.retention.write_health import WriteHealth
from gantrymq.store.sessions.refusals import NO_SESSIONS, session_refused
from gantrymq.store.sessions.snapshot import SnapshotWriter
from gantrymq.store.sessions.table import ProducerSessions, SessionSend
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.store.turn_result import NOTHING, TurnResult
from gantrymq.wire.message.record import Record

# How long a stop waits for I/O before it checks again whether a sync is still under way.
DRAIN_SECONDS: Final = 1.0

SLAVE: Final = Refused(
    PutStatus.SERVICE_NOT_AVAILABLE,
    UNAVAILABLE + "This broker is a slave, which accepts no messages; send to its master.",
)


@final
class Store:
    """The store of one broker; its broker owns it. Nothing on disk is touched before `open`.

    The code that sends the log to followers calls `log_reader.turn` and takes its results.
    """

    __slots__ = (
        "_background",
        "_broken",
        "_deletions",
        "_dispatcher",
        "_flushes",
        "_is_copy",
        "_is_sync",
        "_levels",
        "_local_hour",
        "_lock",
        "_notifier",
        "_replica_appender",
        "_reserve",
        "_session_copies",
        "_write_batcher",
        "_write_health",
        "ages",
        "disk",
        "filter_meter",
        "index",
        "log",
        "log_reader",
        "queues",
        "reader",
        "report",
        "retention",
        "safe",
        "sessions",
        "settings",
        "waiters",
        "watch",
    )

    def __init__(
        self,
        disk: Disk,
        background: Background,
        settings: StoreSettings,
        *,
        new_index_name: Callable[[], str],
        local_hour: Callable[[int], int],
        tail_bytes: int = TAIL_BYTES,
        is_copy: bool = False,
        monotonic: Callable[[], float] = standing,
    ) -> None:
        """`new_index_name` returns the time as yyyyMMddHHmmssSSS. `local_hour` returns the hour of
        a wall-clock time in ms. Both use the broker's time zone. The last `tail_bytes` of the log
        are kept in memory. A store that `is_copy` takes the bytes of its master's log and refuses
        messages. `monotonic` is a clock in seconds that measures the time spent in filters."""
        self._levels = levels = DelayLevels(settings.message_delay_level)
        sizes = IndexSizes(settings.max_hash_slot_num, settings.max_index_num)
        self._background, self._local_hour = background, local_hour
        self._is_copy = is_copy
        self._is_sync = settings.flush_disk_type is FlushDiskType.SYNC_FLUSH
        self.log = CommitLog(disk, background, settings, tail_bytes=tail_bytes)
        self._reserve = Reserve(disk, background)
        self.waiters = Waiters(settings)
        self._broken: SyncFailedError | None = None
        self.safe: int | None = None
        """Consumers see no record from this position on, for a new master may still truncate it.
        None: no limit."""
        self.disk, self.settings = disk, settings
        self._lock = DirectoryLock(disk)
        self.queues = Queues(disk, settings.mapped_file_size_consume_queue)
        self.index = Index(disk, sizes, new_index_name)
        self.filter_meter = WorkMeter(monotonic)
        self.reader = AsyncReader(background, meter=self.filter_meter)
        self.log_reader = AsyncReader(background)
        self.watch = DiskWatch(disk.usage, self._reserve, settings)
        self.report = Report(is_clean=False)
        self._make_parts(levels)

    def _make_parts(self, levels: DelayLevels) -> None:
        """Create the parts that connect the log, the queues and the index."""
        disk, background, settings, log = self.disk, self._background, self.settings, self.log
        index = self.index if settings.message_index_enable else None
        replaced = ReplacedQueues(disk)
        self.sessions = ProducerSessions.of(settings)
        self._session_copies = SnapshotWriter(disk, background, self.sessions)
        self._dispatcher = dispatcher = Dispatcher(self.queues, index, replaced, self.sessions)
        self._deletions = Deletions(disk, log, self.queues, dispatcher)
        self.ages = TopicAges(self, background)
        self._notifier = DispatchNotifier(log, dispatcher, levels, is_copy=self._is_copy)
        self._write_health = WriteHealth(
            log, self.queues, self._notifier, self._deletions, self.watch
        )
        self._replica_appender = ReplicaAppender(log, levels, self._notifier.dispatch)
        self._write_batcher = WriteBatcher(log, self.queues, dispatcher, levels)
        self._flushes: FlushCoordinator | None = None
        self.retention: Retention | None = None

    # ------------------------------------------------------------------ start

    def open(self, now: float) -> ProgressTask[None]:
        """Recover the store; the caller must run the task to its end. StoreRefusedError says what
        to do about a directory that cannot be used as it is. DiskError LOCKED means that another
        process uses the directory."""
        self._lock.take(self.settings)
        try:
            yield from self._recover(now)
        except GantryError:
            if not self.report.is_changed:
                self._lock.forget()
            raise

    def _recover(self, now: float) -> ProgressTask[None]:
        disk, settings = self.disk, self.settings
        flush_positions = FlushPositionsFile(
            disk, self._background, settings.mapped_file_size_commit_log, self.queues.file_bytes
        )
        checkpoint = CheckpointFile(disk, self._background)
        parts = Parts(
            disk,
            self._background,
            self.log,
            flush_positions,
            self.queues,
            self.index,
            self._dispatcher,
            self._deletions,
            self._levels,
            self.sessions,
            self._session_copies,
        )
        recovery = Recovery(parts, settings, checkpoint, is_clean=self._lock.is_clean)
        self.report = recovery.report
        yield from recovery.run()
        self._notifier.begin()
        checkpoint.settle()
        self._reserve.open()
        self._flushes = FlushCoordinator(parts, checkpoint, settings, now)
        self._write_health.opened(self._flushes)
        self.retention = Retention(
            disk,
            self._background,
            settings,
            self.log,
            self.queues,
            self.index,
            self.watch,
            local_hour=self._local_hour,
            keep_from=self._keep_from,
            now=now,
        )
        self.log.prepare(now)
        self._replica_appender.begin()

    # ------------------------------------------------------------------ puts

    def put(
        self, message: Record, *, waits: bool = True, was_accepted: bool = False
    ) -> int | Refused:
        """Add a message to this turn's group. Return the number of its answer, or a refusal.

        The store sets the message's offsets and store time. With SYNC_FLUSH and `waits` the answer
        comes when the message is on disk. A message that `was_accepted` earlier may be longer than
        maxMessageSize.
        """
        refused = self._refusal() or check_message(
            message, self.settings, was_accepted=was_accepted
        )
        if refused is not None:
            return refused
        return self._write_batcher.put([message], is_batch=False, waits=waits)

    def put_batch(self, messages: Sequence[Record], *, waits: bool = True) -> int | Refused:
        """Like `put`, for messages of one queue that are stored together and get one answer."""
        refused = self._refusal() or check_batch(messages, self.settings)
        if refused is not None:
            return refused
        return self._write_batcher.put(messages, is_batch=True, waits=waits)

    def put_session(
        self, messages: Sequence[Record], send: SessionSend, *, is_batch: bool, waits: bool = True
    ) -> int | Refused:
        """Like `put`, for a message or batch of a producer session, which its properties name.
        Messages that repeat stored ones are not stored again. If all of them are repeats, the
        answer comes when everything that is in the log by then is as safe as `waits` asks for."""
        assert len(messages) == send.count
        refused = self._refusal() or check_batch(messages, self.settings)
        if refused is None and not self._session_copies.is_ready:
            refused = NO_SESSIONS
        if refused is not None:
            return refused
        admission = self.sessions.admit(send)
        if admission.fault is not None:
            return session_refused(send, admission)
        if admission.repeats == send.count:
            return self._write_batcher.confirm(send.count, waits=waits)
        rest = messages[admission.repeats :]
        return self._write_batcher.put(
            rest, is_batch=is_batch, waits=waits, repeats=admission.repeats
        )

    def feed(self, kernel: Kernel, data: bytes, start: int, born_host: bytes, wall_ms: int) -> Fed:
        """Take the send requests in data[start:] into this turn's group, up to the first one that
        only `put` can handle. Their replies may be sent when `Fed.number` is answered.

        Requests that are fed come before all messages that are put in the same turn.
        """
        if self._refusal() is not None:
            return Fed(start, 0, b"")
        return self._write_batcher.feed(kernel, data, start, born_host, wall_ms)

    def sizes_of(self, fed: Fed) -> list[TopicSize]:
        """The messages and bytes that `fed` added, by topic. Nothing else may be fed or put
        before."""
        return self._write_batcher.sizes_of(fed)

    @property
    def waiting_bytes(self) -> int:
        """The number of bytes that the next turn writes to the log."""
        return self._write_batcher.waiting_bytes

    @property
    def answers_wait(self) -> bool:
        """Whether sends are answered only after an fsync or after replication."""
        return self._is_sync or self.waiters.for_members

    def delete_topic(self, topic: str) -> None:
        """Delete the topic's queues in the next turn, after this turn's group has been written."""
        self._deletions.ask(topic)
        self.ages.keep(topic, None)

    def change(self, settings: StoreSettings) -> None:
        """Apply changed settings, except those that are only read at the start."""
        self.settings = settings
        self.watch.change(settings)
        if self.retention is not None:
            self.retention.change(settings)

    def keep_topic(self, topic: str, age_ms: int | None) -> None:
        """Show the topic's messages for `age_ms` only. None: for as long as the log has them. The
        setting is lost when the process ends."""
        self.ages.keep(topic, age_ms)

    def refusal(self) -> Refused | None:
        """Why the store cannot write now, or why its last write to the log failed; None
        otherwise."""
        return self._write_health.refusal()

    def stall(self, now: float) -> str | None:
        """Why it is unknown when the disk will finish a sync; None if the disk answers."""
        return self._write_health.stall(now)

    def trouble(self, now: float) -> str | None:
        """Why this store cannot accept messages, or could not if it became master; else None."""
        return self._write_health.trouble(now)

    def _refusal(self) -> Refused | None:
        """Why the store accepts no message now, or None."""
        return SLAVE if self._is_copy else self._write_health.to_writing()

    # ------------------------------------------------------------------ roles

    def lead(self, now: float) -> None:
        """Turn a copy into a store that accepts messages and appends them to what it has. An
        incomplete record that its master had begun to send is discarded."""
        self._opened()
        assert self._is_copy, "the store accepts messages already"
        self._is_copy = False
        self._write_health.forget(now)
        self._notifier.lead()
        self.log.prepare(now)

    def follow(self, wall_ms: int) -> None:
        """Stop accepting messages and become a copy. Messages that were put but not written are
        dropped. Sends that wait for an fsync or for replication are not answered with success."""
        self._opened()
        assert not self._is_copy, "the store is a copy already"
        self._is_copy = True
        self.waiters.dismiss(self._write_batcher.drop(wall_ms))
        self.sessions.release()
        self._notifier.follow()
        self._replica_appender.begin()

    def flush_soon(self, now: float) -> None:
        """Start a flush of the log, unless one is under way."""
        flushes, _ = self._opened()
        try:
            flushes.flusher.start(now)
        except SyncFailedError as error:
            self._broken = error
            raise

    # ------------------------------------------------------------------ copies

    def begin_copy(self) -> int | None:
        """Expect the master's bytes from the end of the log on, and return that position. None: the
        log has no record yet, and the copy may begin where any of the master's files begins."""
        self._replica_appender.begin()
        return None if self.log.is_empty else self.log.end

    def append_copy(self, position: int, data: bytes, now: float) -> CopyRefused | None:
        """Append the next bytes of the master's log. Whole records are in the log when this
        returns. After a refusal the caller must call `begin_copy` before it appends again."""
        assert self._is_copy, "a store that accepts messages is no copy"
        flushes, _ = self._opened()
        refusal = self._write_health.to_writing()
        if refusal is not None:
            return CopyRefused(refusal.text, is_diverged=False)
        try:
            refused = self._replica_appender.take(position, data, flushes, now)
        except SyncFailedError as error:
            self._broken = error
            raise
        self._write_health.note_copy(refused, now)
        return refused

    # ------------------------------------------------------------------ the turn

    def turn(self, now: float, wall_ms: int) -> TurnResult:
        """Do everything that is due. Call it again at `deadline`, or when something happens."""
        try:
            return self._turn(now, wall_ms)
        except SyncFailedError as error:
            self._broken = error
            raise

    def _turn(self, now: float, wall_ms: int) -> TurnResult:
        flushes, retention = self._opened()
        self._take_completions(now)
        if self._dispatcher.position < self.log.end:
            self._notifier.catch_up()
        if not self._write_batcher.is_empty:
            self._write_group(flushes, now, wall_ms)
        if now >= self._deletions.deadline():
            self._deletions.turn(now, is_copy=self._is_copy)
        for released in flushes.turn(now):
            self.waiters.flushed(released)
        if now >= self.waiters.deadline():
            self.waiters.turn(now)
        self._write_health.turn(now, is_copy=self._is_copy)
        if now >= retention.deadline():
            retention.turn(now, wall_ms)
        if now >= self.ages.deadline():
            self.ages.turn(now, wall_ms)
        self.filter_meter.refill()
        if self.reader.is_due:
            self.reader.turn()
        if self._session_copies.is_due(now, self._dispatcher.position):
            self._session_copies.turn(now, self._dispatcher.position, self._kept)
        return self._result()

    def _opened(self) -> tuple[FlushCoordinator, Retention]:
        """The parts of a store that is open; raises if it is not open, or if a sync has failed."""
        if self._broken is not None:
            raise self._broken
        if self._flushes is None or self.retention is None:
            raise LocalError("the store is not open")
        return self._flushes, self.retention

    def deadline(self) -> float:
        """The time at which `turn` has work, if nothing happens before; `-NEVER` if it has work
        now."""
        flushes, retention = self._flushes, self.retention
        if flushes is None or retention is None or self._is_due:
            return -NEVER
        # `min` of two: mypyc compiles that inline, but boxes the values and makes a call for more.
        due = min(flushes.deadline(), self.watch.deadline())
        due = min(due, retention.deadline())
        due = min(due, self._deletions.deadline())
        due = min(due, self.ages.deadline())
        return min(due, self.waiters.deadline())

    @property
    def _is_due(self) -> bool:
        return (
            not self._write_batcher.is_empty
            or self.reader.is_due
            or (not self._notifier.is_empty and self._notifier.told_at <= self.readable)
        )

    @property
    def readable(self) -> int:
        """The log position below which consumers may see messages."""
        readable: int = self._dispatcher.position
        if self._is_sync and self._flushes is not None:
            readable = min(self._flushes.flusher.flushed.position, readable)
        return readable if self.safe is None else min(self.safe, readable)

    @property
    def flushed(self) -> int:
        """The log position below which everything is fsynced."""
        return 0 if self._flushes is None else self._flushes.flusher.flushed.position

    @property
    def sync_seconds(self) -> Histogram | None:
        """The histogram of the times that syncs of the log took; None before the store is open."""
        return None if self._flushes is None else self._flushes.flusher.sync_seconds

    @property
    def _kept(self) -> int:
        """The log position below which everything is fsynced, and no new master truncates it."""
        return self.flushed if self.safe is None else min(self.safe, self.flushed)

    @property
    def dispatch_behind(self) -> int:
        """The number of bytes of the log that are not dispatched to queues and index yet."""
        return self.log.end - self._dispatcher.position

    def dispatch_behind_ms(self, wall_ms: int) -> int:
        """The age in ms of the oldest record that is not dispatched to queues and index; 0 if there
        is none. All such records belong to one group, hence they have the same store time."""
        return max(0, wall_ms - self.log.store_timestamp_ms) if self.dispatch_behind else 0

    def _take_completions(self, now: float) -> None:
        flushes, retention = self._opened()
        for completion in self._background.take_completions():
            is_known = (
                flushes.take(completion)
                or self.reader.take(completion)
                or self.log.take(completion, now)
                or retention.take(completion)
                or self.ages.take(completion)
                or self._reserve.take(completion)
                or self.log_reader.take(completion)
            )
            assert is_known, f"a completion has an unknown ticket {completion.ticket}"

    def _write_group(self, flushes: FlushCoordinator, now: float, wall_ms: int) -> None:
        """Write the group with one write, fed requests first and then put messages, or none of
        it."""
        group, pending = self._write_batcher.take(wall_ms)
        refused = None
        if group.entries:
            refused = self.log.write(group.arena, now)
            self._write_health.note(refused, now)
        group.end()
        if refused is not None:
            self.sessions.release()
            for one in pending:
                self.waiters.answer(one, refused.status, refused.text)
            return
        self._notifier.dispatch(group.entries)
        self.sessions.release()
        answers_wait, end, is_sync = self.answers_wait, group.arena.end, self._is_sync
        waiting: list[Pending] = []
        for one in pending:
            if one.waits and answers_wait:
                waiting.append(one)
            else:
                self.waiters.answer(one, PutStatus.PUT_OK)
        if waiting:
            number = self.waiters.wait(waiting, end, now, for_disk=is_sync)
            if is_sync:
                flushes.flusher.wait(number, end, now)

    def _result(self) -> TurnResult:
        waiters = self.waiters
        if not waiters.has_answers and self._notifier.is_empty and not self.reader.is_due:
            return NOTHING
        answers = waiters.take_answers()
        return TurnResult(answers, self._notifier.take(self.readable), self.reader.take_finished())

    def _keep_from(self) -> int:
        """The log position from which on no file may be deleted: recovery or dispatch still needs
        it."""
        assert self._flushes is not None
        positions = self._flushes.synced_positions
        return min(self._dispatcher.position, positions.queues, positions.log.record_start)

    # ------------------------------------------------------------------ stop

    def close(self, now: float, wall_ms: int) -> TurnResult:
        """Stop cleanly, waiting for the disk. Every waiting send is answered, everything is on
        disk, and the next start has nothing to recover."""
        turn = self.turn(now, wall_ms)
        flushes, _ = self._opened()
        try:
            self._drain(flushes, now)
            is_clean = self._finish(flushes)
        except SyncFailedError as error:
            self._broken = error
            raise
        self.waiters.give_up()
        rest = self._result()
        self._flushes = self.retention = None
        self._write_health.closed()
        if is_clean:
            flushes.save_queues()
            self._lock.leave()
        for part in (flushes, self.log, self.queues, self.index):
            part.close()
        return TurnResult([*turn.answers, *rest.answers], turn.arrived, turn.finished_reads)

    def _drain(self, flushes: FlushCoordinator, now: float) -> None:
        """Wait for the syncs under way: if one fails, a later successful sync would hide that."""
        while flushes.is_syncing:
            self._background.wait(DRAIN_SECONDS)
            self._take_completions(now)

    def _finish(self, flushes: FlushCoordinator) -> bool:
        """Whether everything is on disk, so that the next start has nothing to recover. If space is
        lacking, the reserve is given up and the work is tried again."""
        while True:
            try:
                return flushes.finish()
            except DiskError:
                if not self.watch.out_of_space():
                    return False
