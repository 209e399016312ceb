"""The store: one broker's log, queues and index, as one machine that is turned.

    start    for progress in store.open(now): ...
    turn     store.put(message) ...; turn = store.turn(now, wall_ms); sleep to store.deadline()
    stop     turn = store.close(now, wall_ms)

A turn takes what the disk has finished, writes the messages put since the last one as one group,
dispatches them, moves the flushes on, and says who gets an answer, which queues have something new
for consumers, and which readings have ended.

A store takes messages, or is a copy of one that does; it goes from one to the other while it is
open (`lead`, `follow`).

Invariants. A put is answered once, and not before what flushDiskType promises is true. Consumers
see only what is below `readable`. Nothing that was put is written once the store is a copy. While
units cannot be stored no message is taken, so that the queues never fall behind the log by more
than one group. A failed sync raises SyncFailedError, from this turn and all that follow: nothing is
answered any more, and the process must end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, final

from gantrymq.base.disk import Background, Disk, DiskError
from gantrymq.base.errors import GantryError, LocalError
from gantrymq.metrics.histogram import Histogram
from gantrymq.store.arrivals import Arrivals
from gantrymq.store.checkpoint import CheckpointFile
from gantrymq.store.claim import Claim
from gantrymq.store.commitlog import CommitLog
from gantrymq.store.copies import Copies, CopyRefused
from gantrymq.store.delay_levels import DelayLevels
from gantrymq.store.deletions import Deletions
from gantrymq.store.disk_watch import DiskWatch
from gantrymq.store.dispatch import Dispatcher
from gantrymq.store.group import TopicSize
from gantrymq.store.index import Index
from gantrymq.store.index_file import IndexSizes
from gantrymq.store.intake import Intake, Pending
from gantrymq.store.kernel import Fed, Kernel
from gantrymq.store.marks import MarksFile
from gantrymq.store.obstacles import Obstacles
from gantrymq.store.persistence import Persistence
from gantrymq.store.put import UNAVAILABLE, PutStatus, Refused, check_batch, check_message
from gantrymq.store.queues import Queues
from gantrymq.store.readings import Readings
from gantrymq.store.recovery import Parts, Progress, Recovery, Report
from gantrymq.store.replaced_queues import ReplacedQueues
from gantrymq.store.reserve import Reserve
from gantrymq.store.retention import Retention
from gantrymq.store.segments import SyncFailedError
from gantrymq.store.sessions.refusals import NO_SESSIONS, session_refused
from gantrymq.store.sessions.snapshot import SnapshotWriter
from gantrymq.store.sessions.table import ProducerSessions, SessionSend
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.store.tail import TAIL_BYTES
from gantrymq.store.topic_ages import TopicAges
from gantrymq.store.turn import NOTHING, Turn
from gantrymq.store.waiters import Waiters
from gantrymq.store.work_meter import WorkMeter, standing
from gantrymq.wire.message.record import Record

NEVER: Final = float("inf")

# How long a stop waits for the device before it looks whether there is anything left to wait for.
DRAIN_SECONDS: Final = 1.0

SLAVE: Final = Refused(
    PutStatus.SERVICE_NOT_AVAILABLE,
    UNAVAILABLE + "Messages are put to the slave, which copies what its master has; send to that.",
)


@final
class Store:
    """Made cold; nothing is touched before `open`. Whoever serves those that follow the log turns
    `log_readings`, and takes what ended of them."""

    __slots__ = (
        "_arrivals",
        "_background",
        "_broken",
        "_claim",
        "_copies",
        "_deletions",
        "_dispatcher",
        "_intake",
        "_is_copy",
        "_is_sync",
        "_levels",
        "_local_hour",
        "_obstacles",
        "_persistence",
        "_reserve",
        "_session_copies",
        "ages",
        "disk",
        "filter_meter",
        "index",
        "log",
        "log_readings",
        "queues",
        "readings",
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
        """`new_index_name` answers the time as yyyyMMddHHmmssSSS and `local_hour` the hour of
        a wall-clock time in ms, both where this broker stands. So many bytes of the log's end
        are kept in memory. A copy takes what its master has, and no messages. `monotonic` is a
        clock that measures how long filters take, in seconds."""
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
        """From here on in the log consumers see nothing: it may be taken back; None: all."""
        self.disk, self.settings = disk, settings
        self._claim = Claim(disk)
        self.queues = Queues(disk, settings.mapped_file_size_consume_queue)
        self.index = Index(disk, sizes, new_index_name)
        self.filter_meter = WorkMeter(monotonic)
        self.readings = Readings(background, meter=self.filter_meter)
        self.log_readings = Readings(background)
        self.watch = DiskWatch(disk.usage, self._reserve, settings)
        self.report = Report(is_clean=False)
        self._make_parts(levels)

    def _make_parts(self, levels: DelayLevels) -> None:
        """What works between the log, the queues and the index."""
        disk, background, settings, log = self.disk, self._background, self.settings, self.log
        index = self.index if settings.message_index_enable else None
        replaced = ReplacedQueues(disk)
        self.sessions = ProducerSessions.of(settings)
        self._session_copies = SnapshotWriter(disk, background, self.sessions)
        self._dispatcher = dispatcher = Dispatcher(self.queues, index, replaced, self.sessions)
        self._deletions = Deletions(disk, log, self.queues, dispatcher)
        self.ages = TopicAges(self, background)
        self._arrivals = Arrivals(log, dispatcher, levels, is_copy=self._is_copy)
        self._obstacles = Obstacles(log, self.queues, self._arrivals, self._deletions, self.watch)
        self._copies = Copies(log, levels, self._arrivals.dispatch)
        self._intake = Intake(log, self.queues, dispatcher, levels)
        self._persistence: Persistence | None = None
        self.retention: Retention | None = None

    # ------------------------------------------------------------------ start

    def open(self, now: float) -> Iterator[Progress]:
        """To be gone through to its end. StoreRefusedError tells what to do about a directory that
        cannot be used as it is; DiskError of LOCKED that another process uses it."""
        self._claim.take(self.settings)
        try:
            yield from self._recover(now)
        except GantryError:
            if not self.report.is_changed:
                self._claim.forget()
            raise

    def _recover(self, now: float) -> Iterator[Progress]:
        disk, settings = self.disk, self.settings
        marks = MarksFile(
            disk, self._background, settings.mapped_file_size_commit_log, self.queues.file_bytes
        )
        checkpoint = CheckpointFile(disk, self._background)
        parts = Parts(
            disk,
            self._background,
            self.log,
            marks,
            self.queues,
            self.index,
            self._dispatcher,
            self._deletions,
            self._levels,
            self.sessions,
            self._session_copies,
        )
        recovery = Recovery(parts, settings, checkpoint, is_clean=self._claim.is_clean)
        self.report = recovery.report
        yield from recovery.steps()
        self._arrivals.begin()
        checkpoint.settle()
        self._reserve.open()
        self._persistence = Persistence(parts, checkpoint, settings, now)
        self._obstacles.opened(self._persistence)
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
        self._copies.begin()

    # ------------------------------------------------------------------ puts

    def put(
        self, message: Record, *, waits: bool = True, was_accepted: bool = False
    ) -> int | Refused:
        """Take a message for this turn's group: a number, which its answer will carry, or why not.

        The store sets its offsets and its store time. With SYNC_FLUSH and `waits` the answer
        comes when it is on disk. What `was_accepted` before may be longer than maxMessageSize.
        """
        refused = self._refusal() or check_message(
            message, self.settings, was_accepted=was_accepted
        )
        if refused is not None:
            return refused
        return self._intake.put([message], is_batch=False, waits=waits)

    def put_batch(self, messages: Sequence[Record], *, waits: bool = True) -> int | Refused:
        """The same for messages of one queue that are stored together, with one answer."""
        refused = self._refusal() or check_batch(messages, self.settings)
        if refused is not None:
            return refused
        return self._intake.put(messages, is_batch=True, waits=waits)

    def put_session(
        self, messages: Sequence[Record], send: SessionSend, *, is_batch: bool, waits: bool = True
    ) -> int | Refused:
        """The same for a message or a batch of a producer session, whose properties name it: those
        that are repeats are not stored again. Where all are, the answer comes when everything the
        log has by then is as safe as `waits` asks for."""
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
            return self._intake.confirm(send.count, waits=waits)
        rest = messages[admission.repeats :]
        return self._intake.put(rest, is_batch=is_batch, waits=waits, repeats=admission.repeats)

    def feed(self, kernel: Kernel, data: bytes, start: int, born_host: bytes, wall_ms: int) -> Fed:
        """Take the send requests from data[start] on for this turn's group, up to the first that
        only `put` can judge; the answer to `Fed.number` has their replies.

        They come before everything that was put, or will be, in this turn.
        """
        if self._refusal() is not None:
            return Fed(start, 0, b"")
        return self._intake.feed(kernel, data, start, born_host, wall_ms)

    def sizes_of(self, fed: Fed) -> list[TopicSize]:
        """How much of what was just fed goes to which topic, before anything else comes in."""
        return self._intake.sizes_of(fed)

    @property
    def waiting_bytes(self) -> int:
        """What the next turn writes to the log."""
        return self._intake.waiting_bytes

    @property
    def answers_wait(self) -> bool:
        """Whether a message is answered once more than this process has it: the disk, a slave."""
        return self._is_sync or self.waiters.for_members

    def delete_topic(self, topic: str) -> None:
        """Its queues go with the next turn, behind what this turn's group has for them."""
        self._deletions.ask(topic)
        self.ages.keep(topic, None)

    def change(self, settings: StoreSettings) -> None:
        """Other settings count from now on, as far as they are not read at the start alone."""
        self.settings = settings
        self.watch.change(settings)
        if self.retention is not None:
            self.retention.change(settings)

    def keep_topic(self, topic: str, age_ms: int | None) -> None:
        """Show its messages for so long only; None: as long as the log has them. It does not
        outlive the process."""
        self.ages.keep(topic, age_ms)

    def refusal(self) -> Refused | None:
        """What keeps the store from writing now, if only what came last."""
        return self._obstacles.refusal()

    def stall(self, now: float) -> str | None:
        """Why nobody can tell when this disk will have anything for good; None where it answers."""
        return self._obstacles.stall(now)

    def trouble(self, now: float) -> str | None:
        """Why this store cannot take messages, or could not if it led."""
        return self._obstacles.trouble(now)

    def _refusal(self) -> Refused | None:
        """Why no message is taken now."""
        return SLAVE if self._is_copy else self._obstacles.to_writing()

    # ------------------------------------------------------------------ roles

    def lead(self, now: float) -> None:
        """A copy takes messages from now on, behind what it has. What its master had begun to send
        is forgotten."""
        self._opened()
        assert self._is_copy, "it takes messages already"
        self._is_copy = False
        self._obstacles.forget(now)
        self._arrivals.lead()
        self.log.prepare(now)

    def follow(self, wall_ms: int) -> None:
        """It takes messages no more, and is a copy. What was put and not written never will be;
        whoever waits for disk or members is not told that all is well."""
        self._opened()
        assert not self._is_copy, "it is a copy already"
        self._is_copy = True
        self.waiters.dismiss(self._intake.drop(wall_ms))
        self.sessions.release()
        self._arrivals.follow()
        self._copies.begin()

    def flush_soon(self, now: float) -> None:
        """Have the log on disk as it is now, if not by the flush that is under way."""
        persistence, _ = self._opened()
        try:
            persistence.flusher.start(now)
        except SyncFailedError as error:
            self._broken = error
            raise

    # ------------------------------------------------------------------ copies

    def begin_copy(self) -> int | None:
        """From now on what comes continues the log, whose end is answered; None: there is no
        record yet, and it may begin where any file of the master's does."""
        self._copies.begin()
        return None if self.log.is_empty else self.log.end

    def append_copy(self, position: int, data: bytes, now: float) -> CopyRefused | None:
        """The next bytes of the master's log. Those of whole records are in the log when this
        returns; after a refusal `begin_copy` comes next."""
        assert self._is_copy, "a log that takes messages is no copy"
        persistence, _ = self._opened()
        obstacle = self._obstacles.to_writing()
        if obstacle is not None:
            return CopyRefused(obstacle.text, is_diverged=False)
        try:
            refused = self._copies.take(position, data, persistence, now)
        except SyncFailedError as error:
            self._broken = error
            raise
        self._obstacles.note_copy(refused, now)
        return refused

    # ------------------------------------------------------------------ the turn

    def turn(self, now: float, wall_ms: int) -> Turn:
        """Everything there is to do; call it again at `deadline`, or when something happens."""
        try:
            return self._turn(now, wall_ms)
        except SyncFailedError as error:
            self._broken = error
            raise

    def _turn(self, now: float, wall_ms: int) -> Turn:
        persistence, retention = self._opened()
        self._take_completions(now)
        if self._dispatcher.position < self.log.end:
            self._arrivals.catch_up()
        if not self._intake.is_empty:
            self._write_group(persistence, now, wall_ms)
        if now >= self._deletions.deadline():
            self._deletions.turn(now, is_copy=self._is_copy)
        for released in persistence.turn(now):
            self.waiters.flushed(released)
        if now >= self.waiters.deadline():
            self.waiters.turn(now)
        self._obstacles.turn(now, is_copy=self._is_copy)
        if now >= retention.deadline():
            retention.turn(now, wall_ms)
        if now >= self.ages.deadline():
            self.ages.turn(now, wall_ms)
        self.filter_meter.refill()
        if self.readings.is_due:
            self.readings.turn()
        if self._session_copies.is_due(now, self._dispatcher.position):
            self._session_copies.turn(now, self._dispatcher.position, self._kept)
        return self._result()

    def _opened(self) -> tuple[Persistence, Retention]:
        """What there is of an open store that did not fail."""
        if self._broken is not None:
            raise self._broken
        if self._persistence is None or self.retention is None:
            raise LocalError("the store is not open")
        return self._persistence, self.retention

    def deadline(self) -> float:
        """When `turn` has something to do, if nothing happens before."""
        persistence, retention = self._persistence, self.retention
        if persistence is None or retention is None or self._is_due:
            return -NEVER
        # Two by two: the compiler knows that, while more of them are objects, and a call.
        due = min(persistence.deadline(), self.watch.deadline())
        due = min(due, retention.deadline())
        due = min(due, self._deletions.deadline())
        due = min(due, self.ages.deadline())
        return min(due, self.waiters.deadline())

    @property
    def _is_due(self) -> bool:
        return (
            not self._intake.is_empty
            or self.readings.is_due
            or (not self._arrivals.is_empty and self._arrivals.told_at <= self.readable)
        )

    @property
    def readable(self) -> int:
        """The place of the log below which messages are there for consumers."""
        readable: int = self._dispatcher.position
        if self._is_sync and self._persistence is not None:
            readable = min(self._persistence.flusher.flushed.position, readable)
        return readable if self.safe is None else min(self.safe, readable)

    @property
    def flushed(self) -> int:
        """Up to here the log is on the disk, for good."""
        return 0 if self._persistence is None else self._persistence.flusher.flushed.position

    @property
    def sync_seconds(self) -> Histogram | None:
        """The histogram of the times that syncs of the log took; None before the store is open."""
        return None if self._persistence is None else self._persistence.flusher.sync_seconds

    @property
    def _kept(self) -> int:
        """Up to here the log is on the disk, and no other master takes it back."""
        return self.flushed if self.safe is None else min(self.safe, self.flushed)

    @property
    def dispatch_behind(self) -> int:
        """Bytes of the log that queues and index do not know yet."""
        return self.log.end - self._dispatcher.position

    def dispatch_behind_ms(self, wall_ms: int) -> int:
        """How long ago the oldest record was stored that queues and index do not know yet; 0 when
        they know all. What they do not know is of one group, hence of one store time."""
        return max(0, wall_ms - self.log.store_timestamp_ms) if self.dispatch_behind else 0

    def _take_completions(self, now: float) -> None:
        persistence, retention = self._opened()
        for completion in self._background.take_completions():
            is_known = (
                persistence.take(completion)
                or self.readings.take(completion)
                or self.log.take(completion, now)
                or retention.take(completion)
                or self.ages.take(completion)
                or self._reserve.take(completion)
                or self.log_readings.take(completion)
            )
            assert is_known, f"nobody asked for ticket {completion.ticket}"

    def _write_group(self, persistence: Persistence, now: float, wall_ms: int) -> None:
        """What was fed, and behind it what was put: all of it with one write, or nothing."""
        group, pending = self._intake.take(wall_ms)
        refused = None
        if group.entries:
            refused = self.log.write(group.arena, now)
            self._obstacles.note(refused, now)
        group.end()
        if refused is not None:
            self.sessions.release()
            for one in pending:
                self.waiters.answer(one, refused.status, refused.text)
            return
        self._arrivals.dispatch(group.entries)
        self.sessions.release()
        answers_wait, end, is_sync = self.answers_wait, group.arena.end, self._is_sync
        waiting: list[Pending] = []
        for one in pending:
            if one.waits and answers_wait:  # it has to be safer before its answer
                waiting.append(one)
            else:
                self.waiters.answer(one, PutStatus.PUT_OK)
        if waiting:
            number = self.waiters.wait(waiting, end, now, for_disk=is_sync)
            if is_sync:
                persistence.flusher.wait(number, end, now)

    def _result(self) -> Turn:
        waiters = self.waiters
        if not waiters.has_answers and self._arrivals.is_empty and not self.readings.is_due:
            return NOTHING
        answers = waiters.take_answers()
        return Turn(answers, self._arrivals.take(self.readable), self.readings.take_finished())

    def _keep_from(self) -> int:
        """No file of the log goes that holds this position, or what is behind."""
        assert self._persistence is not None
        marks = self._persistence.safe_marks
        return min(self._dispatcher.position, marks.queues, marks.log.record_start)

    # ------------------------------------------------------------------ stop

    def close(self, now: float, wall_ms: int) -> Turn:
        """A clean stop, which waits for the disk: everyone who waits is answered, everything is
        on disk, and the next start has nothing to repair."""
        turn = self.turn(now, wall_ms)
        persistence, _ = self._opened()
        try:
            self._drain(persistence, now)
            is_clean = self._finish(persistence)
        except SyncFailedError as error:
            self._broken = error
            raise
        self.waiters.give_up()
        rest = self._result()
        self._persistence = self.retention = None
        self._obstacles.closed()
        if is_clean:
            persistence.save_queues()
            self._claim.leave()
        for part in (persistence, self.log, self.queues, self.index):
            part.close()
        return Turn([*turn.answers, *rest.answers], turn.arrived, turn.readings)

    def _drain(self, persistence: Persistence, now: float) -> None:
        """Hear what became of the syncs under way: a later one that succeeds would not tell."""
        while persistence.is_syncing:
            self._background.wait(DRAIN_SECONDS)
            self._take_completions(now)

    def _finish(self, persistence: Persistence) -> bool:
        """Whether nothing is left to do at the next start; the reserve helps where space lacks."""
        while True:
            try:
                return persistence.finish()
            except DiskError:
                if not self.watch.out_of_space():
                    return False
