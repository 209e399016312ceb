"""Checks open transactions: asks their producers for the outcome, and gives up after enough checks.

    at the start      read the op queue from the stored offset, then the open halves
    each interval     a round over the halves that were open when it began

A half that is old enough is copied to the end of its queue with its check count increased by one,
and its producer is asked about the copy. The group CID_RMQ_SYS_TRANS has Java's two offsets: the
half before which all are closed, and the op from which on the op queue lists the other closed ones.

Invariants. The stored offsets are never ahead of what is on disk. A round has one batch of halves
in memory and stores its results with one write. A producer is asked only about stored copies. A
check counts even if no producer of the group is connected, as in Java, so that halves of a producer
that never comes back are not copied for ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import GantryError
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Channel, Tell
from gantrymq.broker.core.names.system_topics import HALF_TOPIC, OP_TOPIC
from gantrymq.broker.core.schedule.durable_progress import DurableProgress
from gantrymq.broker.core.schedule.system_queue_reader import RECORDS_MAX, records_from
from gantrymq.broker.core.state import State
from gantrymq.broker.core.transaction.check_decision import Verdict, judge, why_too_soon
from gantrymq.broker.core.transaction.put_batches import put_together
from gantrymq.broker.core.transaction.transactions import (
    GIVEN_UP_TOPIC,
    HALF_QUEUE,
    check_of,
    checks_of,
    copy_of,
    given_up,
    group_of,
    have_topic,
    numbers_of,
    op_of,
)
from gantrymq.store.read import lookups
from gantrymq.store.read.lookups import Bounds
from gantrymq.store.record.message_checks import check_message
from gantrymq.wire.message import offset_id, properties
from gantrymq.wire.message.property_names import REAL_TOPIC
from gantrymq.wire.message.record import Record

GROUP: Final = "CID_RMQ_SYS_TRANS"

# The most groups that a log line about missing producers names.
NAMED_MAX: Final = 5

_EMPTY: Final = Bounds(0, 0)


class Progress(NamedTuple):
    """The two offsets of the group."""

    half: int
    op: int


class Sequel(NamedTuple):
    """The record that follows a half: its copy, or the message given up; None if neither can be
    stored."""

    half: Record
    verdict: Verdict
    follower: Record | None


@final
class TransactionCheck:
    """The transaction check of one broker; it runs while the broker serves as master."""

    __slots__ = (
        "_asked",
        "_due",
        "_is_running",
        "_later",
        "_op",
        "_progress",
        "_state",
        "_unheard",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._due = 0.0
        self._is_running = False
        self._asked = 0
        self._unheard: Counter[str] = Counter()
        self._op = 0
        self._later = Progress(0, 0)
        """When all halves before `half` are closed, the ops before `op` are obsolete."""
        self._progress = DurableProgress(Progress(0, 0))

    def deadline(self) -> float:
        return NEVER if self._is_running else self._due

    def expire(self, now: float) -> None:
        state = self._state
        self._due = now + state.settings.transaction_check_interval / 1000
        if not state.serves:
            if not state.identity.is_master:
                state.open_halves.forget()
            return
        self._is_running = True
        work = self._round() if state.open_halves.is_ready else self._load()
        state.task_runner.start_in_role(work, self._ended, self._failed)

    def begin_anew(self) -> None:
        """Restart after a change of role: the queues are read again to find the open halves."""
        self._is_running = False
        self._due = 0.0
        self._state.open_halves.forget()

    def closed(self, channel: Channel) -> None:
        """Do nothing: this service keeps no state for connections."""

    def _ended(self, _: object) -> None:
        self._is_running = False

    def _failed(self, error: Exception) -> None:
        self._is_running = False
        effects = self._state.effects
        if not isinstance(error, GantryError):
            effects.broken("a round of transaction checks raised an exception", error)
            return
        wait = max(self._due - self._state.now, 0)
        effects.warning(f"checking open transactions failed retry_in={wait:.0f}s: {error}")

    # ------------------------------------------------------------------ the start

    def _load(self) -> Task[None]:
        """Read from the queues which halves are open."""
        state, halves = self._state, self._state.open_halves
        half = yield from self._bounds(HALF_TOPIC)
        op = yield from self._bounds(OP_TOPIC)
        halves.begin(self._kept(HALF_TOPIC, half))
        self._op = self._kept(OP_TOPIC, op)
        self._progress = DurableProgress(Progress(halves.first, self._op))
        yield from self._load_ops(self._op, op.maximum, half.maximum)
        outdated = yield from self._load_copies(half.maximum)
        for number in outdated:
            answer = yield from tasks.put(op_of(state, number), waits=False)
            if not answer.status.is_stored:
                state.effects.warning(f"reading half messages failed: {answer.remark}")
                return
            halves.done(number)
        self._later = Progress(half.maximum, op.maximum)
        halves.ready()

    def _bounds(self, topic: str) -> Task[Bounds]:
        reading = lookups.queue_bounds(self._state.store, topic, HALF_QUEUE)
        return (yield from tasks.read(reading)) or _EMPTY

    def _count(self, topic: str, records: Sequence[Record]) -> None:
        """Count what the check reads as a pull of its group, as Java does."""
        if records:
            size = sum(record.size for record in records)
            self._state.stats.got(GROUP, topic, len(records), size)

    def _kept(self, topic: str, bounds: Bounds) -> int:
        """The stored offset, limited to the queue's bounds; after a crash the queue may end before
        it."""
        offset = self._state.offsets.find(GROUP, topic, HALF_QUEUE) or 0
        return min(max(offset, bounds.minimum), bounds.maximum)

    def _load_ops(self, at: int, end: int, half_end: int) -> Task[None]:
        while at < end:
            ops, next_at = yield from records_from(self._state, OP_TOPIC, HALF_QUEUE, at)
            self._count(OP_TOPIC, ops)
            for op in ops:
                for number in numbers_of(op):
                    if number < half_end:
                        self._state.open_halves.done(number)
            if next_at == at:
                return
            at = next_at

    def _load_copies(self, end: int) -> Task[list[int]]:
        """Find the copies that represent their transactions.

        Returns the halves that a copy replaced but for which a crash prevented the op.
        """
        halves, outdated = self._state.open_halves, []
        at = halves.first
        while (at := halves.next_open(at, end)) < end:
            found, next_at = yield from self._open_from(at, end)
            for half in found:
                before = halves.newest_before(half)
                if before is not None:
                    outdated.append(before)
                halves.stands(half)
            if next_at == at:
                break
            at = next_at
        return outdated

    def _open_from(self, at: int, end: int) -> Task[tuple[Sequence[Record], int]]:
        """Read open halves from `at` on; mark unreadable ones as closed, because no decision can
        find them."""
        halves = self._state.open_halves
        count = min(halves.open_run(at, end), RECORDS_MAX)
        found, next_at = yield from records_from(self._state, HALF_TOPIC, HALF_QUEUE, at, count)
        self._count(HALF_TOPIC, found)
        read = {half.queue_offset for half in found}
        for number in range(at, min(next_at, end)):
            if number not in read:
                halves.done(number)
        return found, next_at

    # ------------------------------------------------------------------ a round

    def _round(self) -> Task[None]:
        halves = self._state.open_halves
        end = (yield from self._bounds(HALF_TOPIC)).maximum
        self._unheard.clear()
        at = halves.first
        while self._state.serves and (at := halves.next_open(at, end)) < end:
            found, next_at = yield from self._open_from(at, end)
            if next_at == at or not (yield from self._look_at(found)):
                break
            at = next_at
        self._tell_unheard()
        self._keep()

    def _look_at(self, found: Sequence[Record]) -> Task[bool]:
        """Process a batch; return whether later halves may be old enough, too."""
        state, halves = self._state, self._state.open_halves
        hours = state.store.settings.file_reserved_time
        sequels = []
        room = halves.room
        verdict = None
        for half in found:
            if halves.is_done(half.queue_offset) or halves.is_claimed(half):
                continue
            verdict = judge(half, state.settings, hours, state.wall_ms)
            if verdict is Verdict.WAIT:
                break
            if verdict is not Verdict.GIVE_UP and not halves.is_copied(half):
                if room <= 0:
                    continue
                room -= 1
            sequels.append(self._sequel(half, verdict))
        is_stored = not sequels or (yield from self._carry_out(sequels))
        return is_stored and verdict is not Verdict.WAIT

    def _sequel(self, half: Record, verdict: Verdict) -> Sequel:
        """What follows the half; a half without room for a copy is given up."""
        state = self._state
        if verdict is not Verdict.GIVE_UP:
            copy = copy_of(half, checks_of(half) + (verdict is Verdict.CHECK))
            if check_message(copy, state.store.settings, was_accepted=True) is None:
                return Sequel(half, verdict, copy)
        have_topic(state, GIVEN_UP_TOPIC)
        rest = given_up(half)
        refused = check_message(rest, state.store.settings, was_accepted=True)
        return Sequel(half, Verdict.GIVE_UP, rest if refused is None else None)

    def _carry_out(self, sequels: Sequence[Sequel]) -> Task[bool]:
        """Store what follows these halves, and ask their producers."""
        state = self._state
        records = []
        for half, _, follower in sequels:
            if follower is not None:
                records.append(follower)
            records.append(op_of(state, half.queue_offset))
        with state.open_halves.claim([half for half, _, _ in sequels]):
            answer = yield from put_together(state, records, waits=True)
            if not answer.status.is_stored:
                state.effects.warning(f"checking open transactions failed: {answer.remark}")
                return False
            for sequel in sequels:
                self._carried_out(*sequel)
        return True

    def _carried_out(self, half: Record, verdict: Verdict, follower: Record | None) -> None:
        halves = self._state.open_halves
        if follower is None or verdict is Verdict.GIVE_UP:
            halves.ended(half)
            topic = properties.get(half.properties, REAL_TOPIC) or ""
            self._state.figures.rolled_back.add(topic)
            self._tell_given_up(half, follower)
            return
        halves.replaced(follower, half.queue_offset)
        if verdict is Verdict.CHECK:
            self._ask(follower)

    # ------------------------------------------------------------------ producers

    def _ask(self, copy: Record) -> None:
        """Ask one of the group's producers, in rotation."""
        state, group = self._state, group_of(copy)
        channels = [
            channel for channel in state.clients.producers.get(group, ()) if not channel.is_closing
        ]
        if not channels:
            self._unheard[group] += 1
            return
        self._asked += 1
        channel = channels[self._asked % len(channels)]
        state.effects.add(Tell(channel, check_of(state, copy)))

    def _tell_unheard(self) -> None:
        if not self._unheard:
            return
        named = [f"{group} ({count})" for group, count in self._unheard.most_common(NAMED_MAX)]
        more = len(self._unheard) - len(named)
        self._state.effects.warning(
            f"Check transaction failed, channel is null. groupId={', '.join(named)}"
            f"{f' and {more} more' if more else ''}: no producer of these groups is connected; "
            f"after {self._state.settings.transaction_check_max} checks their transactions are "
            "given up"
        )

    def _tell_given_up(self, half: Record, follower: Record | None) -> None:
        topic = properties.get(half.properties, REAL_TOPIC)
        if follower is not None:
            where = offset_id.encode(follower.store_host, follower.physical_offset)
            fate = f"it is {where} in {GIVEN_UP_TOPIC}; RESUME_CHECK_HALF_MESSAGE begins anew"
        else:
            fate = f"it cannot be stored again and stays at {half.physical_offset} of the log"
        cause = f"has been checked {checks_of(half)} times"
        if checks_of(half) < self._state.settings.transaction_check_max:
            cause = why_too_soon(half)
        self._state.effects.warning(
            f"half message {half.queue_offset} of producer group {group_of(half)} for topic "
            f"{topic} {cause}, so discard it: {fate}"
        )

    # ------------------------------------------------------------------ offsets

    def _keep(self) -> None:
        """Commit the progress that is on disk."""
        state, halves = self._state, self._state.open_halves
        store = state.store
        if halves.first >= self._later.half:
            self._op = self._later.op
            self._later = Progress(self._end(HALF_TOPIC), self._end(OP_TOPIC))
        self._progress.note(Progress(halves.first, self._op), store.log.end)
        half, op = self._progress.safe(store.queues.log_flushed)
        due = state.now + state.settings.flush_consumer_offset_interval / 1000
        for topic, offset in ((HALF_TOPIC, half), (OP_TOPIC, op)):
            if state.offsets.find(GROUP, topic, HALF_QUEUE) != offset:
                state.offsets.commit(GROUP, topic, HALF_QUEUE, offset, due)

    def _end(self, topic: str) -> int:
        queue = self._state.store.queues.find(topic, HALF_QUEUE)
        return 0 if queue is None else queue.end
