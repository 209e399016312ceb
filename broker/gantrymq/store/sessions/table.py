r"""Remembers the last message of each producer session, so that a repeated send is stored once.

A producer numbers the messages of a session from 0 in each epoch. Every stored message has the
property `GANTRY_SESSION`, and dispatch passes it to the table: so the table follows from the log
alone, on masters, slaves and after restarts alike.

    GANTRY_SESSION   id ":" epoch ":" number      the id is opaque, and may hold colons itself

    epoch below the known one                     fenced: refused
    number at most the last of the epoch          a repeat: not stored again
    the next number                               stored
    any other number                              out of sequence: refused, with the next number
    a newer epoch, or an unknown session          must begin at 0

Between its admission and its dispatch a message is only reserved. Invariant: a message counts as a
repeat only if its first copy is in the log, or in the group that is written next.

Bounded: sessions that were not used for `age_ms`, by the store times of the log, are forgotten; so
are the least recently used ones beyond `count_max`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple, TypeAlias, final

from mypy_extensions import i64

from gantrymq.base.errors import RemoteError
from gantrymq.store.settings import StoreSettings

MS_PER_HOUR: Final = 3_600_000

# The id is a part of every message of its session.
ID_BYTES_MAX: Final = 255
NUMBER_MAX: Final = (1 << 63) - 1

_DIGITS_MAX: Final = 19


class SessionState(NamedTuple):
    """The last message of a session: its epoch and number, its log position, its store time."""

    session_id: bytes
    epoch: int
    last: int
    position: int
    store_timestamp_ms: int


class SessionFault(Enum):
    """The reason why messages of a session cannot be stored."""

    FENCED = "a newer epoch of the session has begun"
    OUT_OF_SEQUENCE = "the messages do not continue the session"


@final
class SessionSend:
    """Messages that a producer sends in a session: `count` of them, numbered from `first`."""

    __slots__ = ("count", "epoch", "first", "session_id")

    def __init__(self, session_id: bytes, epoch: int, first: int, count: int = 1) -> None:
        self.session_id: bytes = session_id
        self.epoch: int = epoch
        self.first: int = first
        self.count: int = count

    def of(self, count: int) -> SessionSend:
        """The same start, for `count` messages."""
        return SessionSend(self.session_id, self.epoch, self.first, count)

    def property_value(self, index: int) -> bytes:
        """The value of the property for the message at this index of the send."""
        return b"%b:%d:%d" % (self.session_id, self.epoch, self.first + index)


@final
class Admission:
    """How many messages of a send are repeats, or why none of it is stored."""

    __slots__ = ("epoch", "expected", "fault", "repeats")

    def __init__(
        self, repeats: int, fault: SessionFault | None = None, epoch: int = -1, expected: int = 0
    ) -> None:
        self.repeats: int = repeats
        self.fault: SessionFault | None = fault
        self.epoch: int = epoch
        """The known epoch of the session; -1 if the session is unknown."""
        self.expected: int = expected
        """The number that would continue the session in the epoch of the send."""


_Last: TypeAlias = "tuple[int, int]"


@final
class ProducerSessions:
    """The table of one store, which owns it."""

    __slots__ = (
        "_age_ms",
        "_count_max",
        "_reserved",
        "_states",
        "evicted",
        "expired",
        "refused",
        "repeats",
    )

    def __init__(self, count_max: int, age_ms: int) -> None:
        self._age_ms: int = age_ms
        self._count_max: int = count_max
        self._reserved: dict[bytes, _Last] = {}
        self._states: dict[bytes, SessionState] = {}
        """The least recently used session comes first."""
        self.evicted: int = 0
        """The number of sessions that were forgotten because there were too many."""
        self.expired: int = 0
        self.refused: int = 0
        """The number of sends that were fenced or out of sequence."""
        self.repeats: int = 0
        """The number of messages that were sent again, and not stored again."""

    @staticmethod
    def of(settings: StoreSettings) -> ProducerSessions:
        """A table with the bounds of these settings."""
        age_ms = settings.producer_session_hours * MS_PER_HOUR
        return ProducerSessions(settings.producer_sessions_max, age_ms)

    def __len__(self) -> int:
        return len(self._states)

    # ------------------------------------------------------------------ messages in the log

    def note(self, value: bytes, position: i64, store_timestamp_ms: i64) -> None:
        """Note that the log has a message with this property at this position."""
        send = parse(value)
        if send is None:
            return  # a log that another program wrote may have anything
        state = SessionState(
            send.session_id, send.epoch, send.first, int(position), int(store_timestamp_ms)
        )
        self.restore(state)
        self._forget_old(int(store_timestamp_ms))

    def restore(self, state: SessionState) -> None:
        """Take a state that is newer than the known one; an older one changes nothing."""
        states = self._states
        known = states.get(state.session_id)
        if known is not None:
            if (state.epoch, state.last) < (known.epoch, known.last):
                return
            del states[state.session_id]
        states[state.session_id] = state

    def find(self, session_id: bytes) -> SessionState | None:
        return self._states.get(session_id)

    def all(self) -> Iterable[SessionState]:
        """All sessions, the least recently used first."""
        return self._states.values()

    def clear(self) -> None:
        """Forget everything, because the log begins anew."""
        self._states.clear()
        self._reserved.clear()

    def _forget_old(self, now_ms: int) -> None:
        """Forget at most two sessions: enough, because sessions are added one at a time."""
        states = self._states
        for _ in range(2):
            oldest = next(iter(states.values()))
            if oldest.store_timestamp_ms < now_ms - self._age_ms:
                self.expired += 1
            elif len(states) > self._count_max:
                self.evicted += 1
            else:
                return
            del states[oldest.session_id]

    # ------------------------------------------------------------------ sends

    def admit(self, send: SessionSend) -> Admission:
        """Reserve the numbers of a send, unless the result has a fault. `release` ends the
        reservation."""
        epoch, last = self._last(send.session_id)
        expected = last + 1 if send.epoch == epoch else 0
        if send.epoch < epoch:
            self.refused += 1
            return Admission(0, SessionFault.FENCED, epoch, expected)
        if send.first > expected:
            self.refused += 1
            return Admission(0, SessionFault.OUT_OF_SEQUENCE, epoch, expected)
        repeats = min(expected - send.first, send.count)
        self.repeats += repeats
        if repeats < send.count:
            self._reserved[send.session_id] = (send.epoch, send.first + send.count - 1)
        return Admission(repeats, None, epoch, expected)

    def release(self) -> None:
        """End all reservations: the group was written and dispatched, or it was refused."""
        if self._reserved:
            self._reserved.clear()

    def _last(self, session_id: bytes) -> _Last:
        """Epoch and number of the last message that is stored or reserved."""
        reserved = self._reserved.get(session_id)
        if reserved is not None:
            return reserved
        state = self._states.get(session_id)
        return (-1, -1) if state is None else (state.epoch, state.last)


def parse(value: bytes) -> SessionSend | None:
    """The session that a property or a request names; None if it names none."""
    parts = value.rsplit(b":", 2)
    if len(parts) != 3 or not 0 < len(parts[0]) <= ID_BYTES_MAX:
        return None
    epoch, number = _number(parts[1]), _number(parts[2])
    if epoch < 0 or number < 0:
        return None
    return SessionSend(parts[0], epoch, number)


def parse_sent(value: bytes) -> SessionSend:
    """The session that a request names; RemoteError if it names none."""
    send = parse(value)
    if send is None or min(send.session_id) < 0x20:
        raise RemoteError(
            f"the session {value[:64]!r} is not `id:epoch:number`: the id has 1 to {ID_BYTES_MAX}"
            " bytes without control characters, epoch and number are decimal and not negative"
        )
    return send


def _number(digits: bytes) -> int:
    """-1 for what is no number."""
    if not digits.isdigit() or len(digits) > _DIGITS_MAX:
        return -1
    number = int(digits)
    return number if number <= NUMBER_MAX else -1
