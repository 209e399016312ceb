"""Tests the oracle of the crash tests on the output of a writer."""

from __future__ import annotations

import pytest

from gantrymq.crash.ledger import Ledger
from gantrymq.crash.report import Lines
from gantrymq.crash.sendings import first_put, messages_of, queue_of, waits
from gantrymq.store.settings import FlushDiskType

SIZE = 100

# Single messages of one queue, whose senders wait.
FIRST, SECOND, THIRD, *_ = (
    put
    for put in range(first_put(1) + 1, first_put(1) + 2000)
    if len(messages_of(put)) == 1 and waits(put) and queue_of(put) == ("Topic0", 0)
)
ANSWERED = f"ok {FIRST} 0 0\nok {SECOND} 1 100\nflushed 200\n"


def held(put: int, offset: int, position: int) -> str:
    return f"held {put} 0 {offset} {position} {SIZE}\n"


def serving(end: int) -> str:
    return f"serving {end} 0 0 0 0\n"


def lives(*texts: str, flush: FlushDiskType = FlushDiskType.SYNC_FLUSH, cut: bool = True) -> Ledger:
    """A ledger of lives that told this, a power cut between each two."""
    ledger = Ledger(flush)
    for text in texts:
        ledger.add_life(list(Lines().add(text.encode())))
        if cut:
            ledger.cut()
    return ledger


def test_acknowledged_and_present_messages_are_accepted() -> None:
    found = held(FIRST, 0, 0) + held(SECOND, 1, 100) + held(THIRD, 2, 200)
    ledger = lives(serving(0) + ANSWERED, found + serving(300))
    assert not ledger.faults
    assert ledger.known()[0] == 3


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (held(FIRST, 0, 0) + serving(100), "is lost"),
        (serving(0), "is lost"),
        (held(FIRST, 0, 0) + held(SECOND, 1, 120) + serving(220), "was at"),
        (held(FIRST, 1, 0) + held(SECOND, 0, 100) + serving(200), "was at"),
        (held(SECOND, 1, 0) + held(FIRST, 0, 100) + serving(200), "comes behind"),
        (held(FIRST, 0, 0) + held(SECOND, 1, 100) * 2 + serving(200), "is there twice"),
        (held(FIRST, 0, 0) + held(SECOND, 1, 100) + serving(250), "the log ends at 250"),
        (held(FIRST, 0, 50) + held(SECOND, 1, 150) + serving(250), "no message of a queue"),
        (held(first_put(2) + 1, 0, 0) + serving(100), "was not sent yet"),
        ("fault something\n" + serving(0), "something"),
    ],
)
def test_each_violation_is_detected(found: str, fault: str) -> None:
    ledger = lives(serving(0) + ANSWERED, found)
    assert any(fault in each for each in ledger.faults)


def test_kill_during_recovery_changes_no_promise() -> None:
    ledger = lives(serving(0) + ANSWERED, "opening\n", "opening\n", serving(0))
    assert len(ledger.faults) == 2


def test_without_sync_flush_only_flushed_messages_must_survive() -> None:
    found = held(FIRST, 0, 0) + serving(100)
    flush = FlushDiskType.ASYNC_FLUSH
    told = serving(0) + ANSWERED.replace("flushed 200", "flushed 100")
    assert not lives(told, found, flush=flush).faults
    assert lives(told, found, flush=flush, cut=False).faults
    assert lives(serving(0) + ANSWERED, found, flush=flush).faults


def test_messages_shown_by_recovery_must_survive() -> None:
    found = held(THIRD, 0, 0) + serving(100)
    assert not lives(serving(0), found, serving(100)).faults
    ledger = lives(serving(0), found)
    ledger.add_life(list(Lines().add(serving(0).encode())), is_all=True)
    assert any("is lost" in fault for fault in ledger.faults)


def test_incomplete_line_is_ignored() -> None:
    lines = Lines()
    assert [line.kind for line in lines.add(b"ok 1 0 0\nok 2 1 1")] == ["ok"]
    assert [line.numbers for line in lines.add(b"00\n")] == [[2, 1, 100]]
