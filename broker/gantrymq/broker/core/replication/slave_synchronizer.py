"""Copies a master's metadata tables to a slave with a fixed role, by ordinary requests.

The log is replicated separately. Request codes and tables:

    21 topics         replaced, if the data version differs
    43 offsets        the master's replace the slave's, once the log is here; others stay
    45 delays         delivery progress of each delay level
    201 groups        replaced, if the data version differs
    402 modes         replaced
    30010 quotas      replaced, if they differ
    60 timers         delivery progress, with timerWheelEnable

A round starts when a master is found, and then every ROUND_SECONDS, as in 4.9. A failure of one
table does not affect the others. A master that does not support a request has no such table: 4.9
has no modes and timers, and only Gantry has quotas.

Invariant: the master's progress of deliveries and groups applies here once this broker's disk has
all of the log that the master had when it answered. Otherwise messages would count as delivered,
consumed or decided although their retry copies, or the decisions, were lost with the master. One
exception: a group without an offset gets one at once, because it would otherwise begin at the end
of the queue. The slave then asks for an offset that is not beyond any message whose retry copy its
log lacks (retry_copies.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.core.names.system_topics import TRANSACTION_GROUP
from gantrymq.broker.core.schedule.delays import DelayService
from gantrymq.broker.core.schedule.timer_checkpoint import TimerCheckpoint
from gantrymq.broker.core.schedule.timer_service import TimerService
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.offsets import OffsetTable, offset_table_of
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_table_from_json
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

# As in RocketMQ 4.9.
ROUND_SECONDS: Final = 10.0

# Between checks whether the log has reached the master's end.
LOOK_SECONDS: Final = 1.0

# The request timeout, as in RocketMQ.
ASK_SECONDS: Final = 3.0

# Sent with each request, so that a Gantry master can tell this slave from a RocketMQ slave.
OWN_MARK: Final[Mapping[str, str]] = {"gantry": "slave"}

# Sent with requests for offsets that apply at once: the end of the log on this slave's disk. The
# master then returns no offset that depends on more of the log.
LOG_END_FIELD: Final = "gantryLogEnd"


_LOG_END: Final = "commitLogMaxOffset"
_END_DIGITS_MAX: Final = 19  # of an int64


@final
@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the master. Its names are those in RocketMQ's log lines."""

    code: RequestCode
    broken: str
    copied: str
    is_optional: bool = False


_TOPICS: Final = _Table(RequestCode.GET_ALL_TOPIC_CONFIG, "SyncTopicConfig", "topic config")
_OFFSETS: Final = _Table(
    RequestCode.GET_ALL_CONSUMER_OFFSET, "SyncConsumerOffset", "consumer offset"
)
_DELAYS: Final = _Table(RequestCode.GET_ALL_DELAY_OFFSET, "SyncDelayOffset", "delay offset")
_GROUPS: Final = _Table(
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, "SyncSubscriptionGroup", "Subscription Group"
)
_MODES: Final = _Table(
    RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,
    "SyncMessageRequestMode",
    "Message Request Mode",
    is_optional=True,
)
_QUOTAS: Final = _Table(RequestCode.GANTRY_LIST_QUOTAS, "SyncQuotas", "quotas", is_optional=True)
_TIMERS: Final = _Table(
    RequestCode.GET_TIMER_CHECK_POINT, "syncTimerCheckPoint", "timer check point", is_optional=True
)

Take: TypeAlias = Callable[[bytes], None]


@final
class SlaveSynchronizer:
    """The service of one broker that copies the master's tables. It is idle on a master and in
    groups that elect their master."""

    __slots__ = (
        "_delay_service",
        "_due",
        "_has_new_places",
        "_is_busy",
        "_look_due",
        "_master",
        "_offsets",
        "_state",
        "_timer_service",
        "faults",
    )

    def __init__(
        self, state: State, delay_service: DelayService, timer_service: TimerService
    ) -> None:
        self._state = state
        self._delay_service = delay_service
        self._timer_service = timer_service
        self._due = 0.0
        self._has_new_places = False
        """Whether the master has offsets for groups and queues for which this broker has none."""
        self._is_busy = False
        self._look_due = NEVER
        self._offsets: tuple[OffsetTable, int] | None = None
        """A table of offsets and the log end that this broker's log must reach before the table
        applies. At most one waits, which bounds its memory by the size of an answer."""
        self._master = ""
        self.faults: dict[str, str | None] = {}
        """By table, why the last attempt to copy it failed; None if it succeeded."""

    def deadline(self) -> float:
        state = self._state
        identity = state.identity
        if self._is_busy or identity.is_master or identity.is_elected or not state.master_address:
            return NEVER
        if self._master != state.master_address:
            return state.now
        return min(self._due, self._look_due)

    def expire(self, now: float) -> None:
        """Apply the offsets that waited for the log, and begin a round if one is due."""
        master = self._state.master_address
        if master == self._master:
            self._look()
            if now < self._due:
                return
        else:
            self._offsets = None  # the table of another master belongs to that master's log
            self._look_due = NEVER
            self._master = master
        self._is_busy = True
        self._due = now + ROUND_SECONDS
        self._state.task_runner.start_in_role(self._round(), self._ended, self._failed)

    def _look(self) -> None:
        try:
            self._take_offsets()
        except RemoteError as error:
            self._note(_OFFSETS, str(error))

    def closed(self, channel: Channel) -> None:
        """Connections do not matter here."""

    def _ended(self, _: object) -> None:
        self._is_busy = False

    def _failed(self, error: Exception) -> None:
        self._is_busy = False
        self._state.effects.broken("copying tables from the master raised an exception", error)

    # ------------------------------------------------------------------ a round

    def _round(self) -> Task[None]:
        state = self._state
        yield from self._copy(_TOPICS, state.topics.copy)
        yield from self._copy_progress(_OFFSETS, self._copy_offsets)
        if self._has_new_places:
            yield from self._fill_offsets()
        yield from self._copy_progress(_DELAYS, self._delay_service.copy)
        yield from self._copy(_GROUPS, state.groups.copy)
        yield from self._copy(_MODES, state.request_modes.copy)
        yield from self._copy(_QUOTAS, state.quotas.copy)
        if state.settings.timer_wheel_enable:
            yield from self._copy_progress(_TIMERS, self._copy_timers)

    def _copy(self, table: _Table, take: Take) -> Task[None]:
        """Request a table and apply it."""
        body = yield from self._body(table, table.code)
        if body is not None:
            self._take(table, partial(take, body))

    def _copy_progress(self, table: _Table, take: Callable[[bytes, int], None]) -> Task[None]:
        """Request a table and then the end of the master's log, and apply the table with that
        end."""
        body = yield from self._body(table, table.code)
        if body is None:
            return
        info = yield from self._body(table, RequestCode.GET_BROKER_RUNTIME_INFO)
        if info is not None:
            self._take(table, lambda: take(body, _log_end(info)))

    def _body(self, table: _Table, code: RequestCode, **more: str) -> Task[bytes | None]:
        """The body of the master's answer to a request with these fields; None if it failed."""
        command = Command(code, ext={**OWN_MARK, **more})
        answer = yield from tasks.ask_broker(self._master, command, ASK_SECONDS)
        if isinstance(answer, str):
            self._note(table, answer)
        elif answer.code == ResponseCode.SUCCESS:
            return answer.body
        elif not table.is_optional or answer.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self._note(table, f"code {answer.code}: {answer.remark}")
        return None

    def _take(self, table: _Table, take: Callable[[], None]) -> None:
        if self._master != self._state.master_address:
            return  # the master changed meanwhile, and this one's tables may be outdated
        try:
            take()
        except RemoteError as error:
            self._note(table, str(error))
        else:
            self._note(table, None)

    def _note(self, table: _Table, fault: str | None) -> None:
        """Note the result of an attempt, and log it if it changed between failure and success."""
        is_known = table.copied in self.faults and (
            (self.faults[table.copied] is None) is (fault is None)
        )
        self.faults[table.copied] = fault
        if is_known:
            return
        if fault is None:
            self._state.effects.info(f"Update slave {table.copied} from master, {self._master}")
        else:
            self._state.effects.warning(
                f"{table.broken} Exception, {self._master}: {fault}; the next attempt follows in"
                f" {ROUND_SECONDS:.0f} s"
            )

    def _copy_offsets(self, body: bytes, log_end: int) -> None:
        """Take a table of offsets, which applies once the log reaches `log_end`.

        A table that waits already is kept, because a log that lags far behind would never reach the
        end of the newest table. It is replaced if the master's log has become shorter, because the
        log may then never reach the old end."""
        self._take_offsets()
        table = offset_table_of(body)
        if self._offsets is None or log_end < self._offsets[1]:
            self._offsets = table, log_end
        self._take_offsets()
        is_waiting = self._offsets is not None
        self._has_new_places = is_waiting and self._state.offsets.lacks(table, TRANSACTION_GROUP)

    def _fill_offsets(self) -> Task[None]:
        """Fetch offsets for groups that have none. They apply at once, because they depend on no
        more of the log than this disk has."""
        self._has_new_places = False
        log_end = str(self._state.store.queues.log_flushed)
        body = yield from self._body(_OFFSETS, _OFFSETS.code, **{LOG_END_FIELD: log_end})
        if body is not None:
            self._take(_OFFSETS, partial(self._fill, body))

    def _fill(self, body: bytes) -> None:
        table = offset_table_of(body)
        self._state.offsets.fill(table, self._offsets_due(), TRANSACTION_GROUP)

    def _take_offsets(self) -> None:
        """Apply the waiting offsets if the log has reached their end."""
        self._look_due = NEVER
        if self._offsets is None:
            return
        table, log_end = self._offsets
        store, now = self._state.store, self._state.now
        if store.queues.log_flushed < log_end:
            self._look_due = now + LOOK_SECONDS
            if store.log.end >= log_end:
                store.flush_soon(now)  # a regular flush may come only after seconds
            return
        self._offsets = None
        self._state.offsets.copy(table, self._offsets_due())

    def _offsets_due(self) -> float:
        return self._state.now + self._state.settings.flush_consumer_offset_interval / 1000

    def _copy_timers(self, body: bytes, log_end: int) -> None:
        self._timer_service.progress.copy(TimerCheckpoint.decode(body), log_end)


def _log_end(info: bytes) -> int:
    """The end of the master's log, from its runtime info."""
    return _position(kv_table_from_json(javajson.loads(info)).get(_LOG_END, ""), "the master's")


def slave_log_end(state: State, command: Command) -> int:
    """The log position that the requesting slave will have when it applies the answer.

    A Gantry slave sends its position, or waits until it has all of the log. A RocketMQ slave
    applies the answer at once, so the position that all connected slaves have acknowledged is used.
    RemoteError if the sent position is not a number."""
    ext = command.ext or {}
    if LOG_END_FIELD in ext:
        return _position(ext[LOG_END_FIELD], "the slave's")
    if OWN_MARK.items() <= ext.items():
        return state.store.log.end
    followers = state.replication.followers(state.now)
    return min((follower.acknowledged for follower in followers), default=0)


def _position(text: str, whose: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > _END_DIGITS_MAX:
        raise RemoteError(f"{whose} {_LOG_END} is {text[:40]!r}, which is no number")
    return int(text)
