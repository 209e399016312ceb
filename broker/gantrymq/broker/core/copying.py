"""What a slave copies from its master's tables, by ordinary requests; the log comes another way.

    21 topics         replaced, where the data version is another one
    43 offsets        those that the master has, once the log is here; others stay
    45 delays         how far delivery has come in each level
    201 groups        replaced, where the data version is another one
    402 modes         replaced
    30010 quotas      replaced, where they are others
    60 timers         how far delivery has come, where timerWheelEnable

A round when a master is found, then one each ROUND_SECONDS, like 4.9. Each table is a try of its
own. A master that does not know a request has no such table: 4.9 has no modes and timers, and
quotas are of ours.

Invariant: how far deliveries and groups have come counts here once this broker has, on its own
disk, all of the log that its master had when it said so. Else messages would count as delivered,
consumed or decided whose copies for another try, or whose decision, were lost with the master. But
where a group has no offset yet it has one at once, for a group without one begins at the end: the
master is asked for one that leaves no message behind whose copy for another try is not here yet
(retry_copies.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core import steps
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.core.offsets import OffsetTable, offset_table_of
from gantrymq.broker.core.steps import Steps
from gantrymq.broker.core.system_topics import TRANSACTION_GROUP
from gantrymq.broker.core.timer_checkpoint import TimerCheckpoint
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_table_from_json
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# 4.9's.
ROUND_SECONDS: Final = 10.0

# Between looks whether the log is as long as the master's was.
LOOK_SECONDS: Final = 1.0

# Java's.
ASK_SECONDS: Final = 3.0

# Said with each question, so that a master of this kind can tell us from a slave of Java's.
OWN_MARK: Final[Mapping[str, str]] = {"gantry": "slave"}

# Said beside it by a slave that cannot wait for its log: up to where it has that on its disk, so
# that the master tells no offset that depends on more.
LOG_END_FIELD: Final = "gantryLogEnd"

NEVER: Final = float("inf")

_LOG_END: Final = "commitLogMaxOffset"
_END_DIGITS_MAX: Final = 19  # of an int64


@final
@dataclass(frozen=True, slots=True)
class _Table:
    """One of the master's; its names are those of Java's log lines."""

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
class Copying:
    """Of one broker. Only a slave copies."""

    __slots__ = (
        "_due",
        "_has_new_places",
        "_is_busy",
        "_look_due",
        "_master",
        "_offsets",
        "_state",
        "faults",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._due = 0.0
        self._has_new_places = False
        """Whether the master has offsets of groups in queues where this broker has none."""
        self._is_busy = False
        self._look_due = NEVER
        self._offsets: tuple[OffsetTable, int] | None = None
        """A table that waits for this broker's log to be as long as that. One at most: no larger
        than an answer may be."""
        self._master = ""
        self.faults: dict[str, str | None] = {}
        """Why each table could not be copied when it was tried last; None where it could."""

    def deadline(self) -> float:
        state = self._state
        identity = state.identity
        if self._is_busy or identity.is_master or identity.is_elected or not state.following.master:
            return NEVER
        if self._master != state.following.master:
            return state.now
        return min(self._due, self._look_due)

    def expire(self, now: float) -> None:
        """Look at what waits for the log, and begin a round if one is due."""
        master = self._state.following.master
        if master == self._master:
            self._look()
            if now < self._due:
                return
        else:
            self._offsets = None  # what another one said is of its log
            self._look_due = NEVER
            self._master = master
        self._is_busy = True
        self._due = now + ROUND_SECONDS
        self._state.works.start_in_role(self._round(), self._ended, self._broke)

    def _look(self) -> None:
        try:
            self._take_offsets()
        except RemoteError as error:
            self._note(_OFFSETS, str(error))

    def closed(self, channel: Channel) -> None:
        """Nobody's connection matters here."""

    def _ended(self, _: object) -> None:
        self._is_busy = False

    def _broke(self, error: Exception) -> None:
        self._is_busy = False
        self._state.effects.broken("a defect ended a round of copying from the master", error)

    # ------------------------------------------------------------------ a round

    def _round(self) -> Steps[None]:
        state = self._state
        yield from self._copy(_TOPICS, state.topics.copy)
        yield from self._copy_progress(_OFFSETS, self._copy_offsets)
        if self._has_new_places:
            yield from self._fill_offsets()
        yield from self._copy_progress(_DELAYS, state.delays.copy)
        yield from self._copy(_GROUPS, state.groups.copy)
        yield from self._copy(_MODES, state.request_modes.copy)
        yield from self._copy(_QUOTAS, state.quotas.copy)
        if state.settings.timer_wheel_enable:
            yield from self._copy_progress(_TIMERS, self._copy_timers)

    def _copy(self, table: _Table, take: Take) -> Steps[None]:
        """Ask for it and take it over."""
        body = yield from self._body(table, table.code)
        if body is not None:
            self._take(table, partial(take, body))

    def _copy_progress(self, table: _Table, take: Callable[[bytes, int], None]) -> Steps[None]:
        """The same for what has to know where the master's log ended by then."""
        body = yield from self._body(table, table.code)
        if body is None:
            return
        info = yield from self._body(table, RequestCode.GET_BROKER_RUNTIME_INFO)
        if info is not None:
            self._take(table, lambda: take(body, _log_end(info)))

    def _body(self, table: _Table, code: RequestCode, **more: str) -> Steps[bytes | None]:
        """What the master answers, asked with these fields; None where it has nothing for us."""
        command = Command(code, ext={**OWN_MARK, **more})
        answer = yield from steps.ask_broker(self._master, command, ASK_SECONDS)
        if isinstance(answer, str):
            self._note(table, answer)
        elif answer.code == ResponseCode.SUCCESS:
            return answer.body
        elif not table.is_optional or answer.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self._note(table, f"code {answer.code}: {answer.remark}")
        return None

    def _take(self, table: _Table, take: Callable[[], None]) -> None:
        if self._master != self._state.following.master:
            return  # somebody else is master by now, and this one's tables may be old
        try:
            take()
        except RemoteError as error:
            self._note(table, str(error))
        else:
            self._note(table, None)

    def _note(self, table: _Table, fault: str | None) -> None:
        """Say so when it has changed."""
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
                f"{table.broken} Exception, {self._master}: {fault}; it is tried again each"
                f" {ROUND_SECONDS:.0f} s"
            )

    def _copy_offsets(self, body: bytes, log_end: int) -> None:
        """What waits already goes first: a log that is far behind would never reach the newest.
        But a master whose log is shorter by now need not write as much again."""
        self._take_offsets()
        table = offset_table_of(body)
        if self._offsets is None or log_end < self._offsets[1]:
            self._offsets = table, log_end
        self._take_offsets()
        is_waiting = self._offsets is not None
        self._has_new_places = is_waiting and self._state.offsets.lacks(table, TRANSACTION_GROUP)

    def _fill_offsets(self) -> Steps[None]:
        """Where a group has none, at once: such as depend on no more of the log than is here."""
        self._has_new_places = False
        log_end = str(self._state.store.queues.log_flushed)
        body = yield from self._body(_OFFSETS, _OFFSETS.code, **{LOG_END_FIELD: log_end})
        if body is not None:
            self._take(_OFFSETS, partial(self._fill, body))

    def _fill(self, body: bytes) -> None:
        table = offset_table_of(body)
        self._state.offsets.fill(table, self._offsets_due(), TRANSACTION_GROUP)

    def _take_offsets(self) -> None:
        """Those that waited, if the log is here by now."""
        self._look_due = NEVER
        if self._offsets is None:
            return
        table, log_end = self._offsets
        store, now = self._state.store, self._state.now
        if store.queues.log_flushed < log_end:
            self._look_due = now + LOOK_SECONDS
            if store.log.end >= log_end:
                store.flush_soon(now)  # a few pages alone would wait for seconds
            return
        self._offsets = None
        self._state.offsets.copy(table, self._offsets_due())

    def _offsets_due(self) -> float:
        return self._state.now + self._state.settings.flush_consumer_offset_interval / 1000

    def _copy_timers(self, body: bytes, log_end: int) -> None:
        self._state.timers.copy(TimerCheckpoint.decode(body), log_end)


def _log_end(info: bytes) -> int:
    """Where the master's log ends, as its figures say."""
    return _position(kv_table_from_json(javajson.loads(info)).get(_LOG_END, ""), "the master's")


def slave_log_end(state: State, command: Command) -> int:
    """Up to where the slave that asks will have the log when it believes the answer. One of ours
    says so, or waits for all of the log; one of Java's waits for nothing, so that counts which all
    connected slaves have. RemoteError where it is no number."""
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
