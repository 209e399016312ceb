"""Tests the table of producer sessions: repeats, refusals, and what is forgotten."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.store.sessions.table import (
    ProducerSessions,
    SessionFault,
    SessionSend,
    parse,
    parse_sent,
)

HOUR_MS = 3_600_000


def table(count_max: int = 100, age_ms: int = HOUR_MS) -> ProducerSessions:
    return ProducerSessions(count_max, age_ms)


def stored(sessions: ProducerSessions, send: SessionSend, at_ms: int = 0) -> None:
    """Note these messages as written to the log."""
    for index in range(send.count):
        sessions.note(send.property_value(index), 100 + send.first + index, at_ms)
    sessions.release()


def test_repeated_send_is_recognised() -> None:
    sessions = table()
    send = SessionSend(b"s", 1, 0, 3)
    assert sessions.admit(send).repeats == 0
    stored(sessions, send)
    assert sessions.admit(send).repeats == 3
    assert sessions.repeats == 3


def test_a_send_that_is_not_written_yet_counts_as_stored() -> None:
    sessions = table()
    sessions.admit(SessionSend(b"s", 1, 0, 3))
    assert sessions.admit(SessionSend(b"s", 1, 0, 3)).repeats == 3
    assert sessions.admit(SessionSend(b"s", 1, 3, 1)).repeats == 0


def test_a_send_that_was_refused_is_no_repeat_later() -> None:
    sessions = table()
    sessions.admit(SessionSend(b"s", 1, 0, 3))
    sessions.release()
    assert sessions.admit(SessionSend(b"s", 1, 0, 3)).repeats == 0


def test_the_rest_of_a_send_is_new() -> None:
    sessions = table()
    stored(sessions, SessionSend(b"s", 1, 0, 3))
    assert sessions.admit(SessionSend(b"s", 1, 1, 5)).repeats == 2
    assert sessions.admit(SessionSend(b"s", 1, 6, 1)).fault is None


def test_gap_is_refused_with_the_next_number() -> None:
    sessions = table()
    stored(sessions, SessionSend(b"s", 1, 0, 3))
    admission = sessions.admit(SessionSend(b"s", 1, 4))
    assert admission.fault is SessionFault.OUT_OF_SEQUENCE
    assert admission.expected == 3


@pytest.mark.parametrize("epoch", [1, 2])
def test_unknown_session_begins_at_zero(epoch: int) -> None:
    sessions = table()
    stored(sessions, SessionSend(b"other", 1, 0, 3))
    stored(sessions, SessionSend(b"s", 0, 0, 3))
    admission = sessions.admit(SessionSend(b"s", epoch, 3))
    assert admission.fault is SessionFault.OUT_OF_SEQUENCE
    assert admission.expected == 0
    assert sessions.admit(SessionSend(b"s", epoch, 0)).fault is None


def test_older_epoch_is_fenced_before_the_newer_one_is_written() -> None:
    sessions = table()
    stored(sessions, SessionSend(b"s", 1, 0, 3))
    sessions.admit(SessionSend(b"s", 2, 0))
    admission = sessions.admit(SessionSend(b"s", 1, 3))
    assert admission.fault is SessionFault.FENCED
    assert admission.epoch == 2
    assert sessions.refused == 1


def test_an_old_copy_of_a_message_changes_nothing() -> None:
    sessions = table()
    stored(sessions, SessionSend(b"s", 2, 0, 3))
    sessions.note(b"s:2:1", 999, 0)
    sessions.note(b"s:1:7", 999, 0)
    state = sessions.find(b"s")
    assert state is not None
    assert (state.epoch, state.last, state.position) == (2, 2, 102)


def test_empty_send_behind_the_stored_messages_is_admitted() -> None:
    sessions = table()
    stored(sessions, SessionSend(b"s", 1, 0))
    assert sessions.admit(SessionSend(b"s", 1, 1, 0)).fault is None
    assert sessions.admit(SessionSend(b"s", 2, 1, 0)).fault is SessionFault.OUT_OF_SEQUENCE


def test_least_recently_used_session_is_forgotten_first() -> None:
    sessions = table(count_max=2)
    for name in (b"a", b"b", b"a", b"c"):
        state = sessions.find(name)
        first = 0 if state is None else state.last + 1
        stored(sessions, SessionSend(name, 1, first))
    assert {state.session_id for state in sessions.all()} == {b"a", b"c"}
    assert (sessions.evicted, sessions.expired) == (1, 0)


def test_a_session_that_was_not_used_for_long_is_forgotten() -> None:
    sessions = table()
    stored(sessions, SessionSend(b"a", 1, 0), at_ms=0)
    stored(sessions, SessionSend(b"b", 1, 0), at_ms=HOUR_MS)
    assert len(sessions) == 2
    stored(sessions, SessionSend(b"b", 1, 1), at_ms=HOUR_MS + 1)
    assert [state.session_id for state in sessions.all()] == [b"b"]
    assert (sessions.evicted, sessions.expired) == (0, 1)


def test_an_id_may_hold_colons() -> None:
    send = parse(b"sink:0:T/3:12:7")
    assert send is not None
    assert (send.session_id, send.epoch, send.first) == (b"sink:0:T/3", 12, 7)
    assert send.property_value(2) == b"sink:0:T/3:12:9"


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"s",
        b"s:1",
        b":1:2",
        b"s:-1:2",
        b"s:1:",
        b"s:1:x",
        b"s:1:%d" % (1 << 63),
        b"x" * 256 + b":1:2",
    ],
)
def test_invalid_session_field_is_detected(value: bytes) -> None:
    assert parse(value) is None
    with pytest.raises(RemoteError, match="id:epoch:number"):
        parse_sent(value)


def test_session_field_cannot_inject_a_property() -> None:
    with pytest.raises(RemoteError):
        parse_sent(b"s\x02TAGS\x01A:1:2")
