"""Tests whether an open half message is checked now, later, or given up."""

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.transaction.check_decision import Verdict, judge
from gantrymq.fakes.brokers.transactions import HOST
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record

NOW = 1_700_000_000_000
HOUR = 3_600_000


def verdict(age_ms: int = 0, stored_ms: int = 60_000, lacks: str = "", **held: str) -> Verdict:
    said = {"REAL_TOPIC": "T", "REAL_QID": "0", "PGROUP": "g", **held}
    said.pop(lacks, None)
    half = Record(
        b"H",
        b"b",
        properties=properties.encode(said),
        born_timestamp_ms=NOW - age_ms,
        born_host=HOST,
        store_timestamp_ms=NOW - stored_ms,
        store_host=HOST,
    )
    return judge(half, BrokerSettings(), 72, NOW)


@pytest.mark.parametrize(
    ("stored_ms", "expected"),
    [
        (0, Verdict.WAIT),
        (5_999, Verdict.WAIT),
        (6_000, Verdict.CHECK),
        (-1, Verdict.CHECK),  # the clock went back: its age is unknown
    ],
)
def test_age_counts_from_the_store_time(stored_ms: int, expected: Verdict) -> None:
    assert verdict(stored_ms=stored_ms) is expected


def test_age_ignores_the_clock_of_the_producer() -> None:
    assert verdict(age_ms=HOUR, stored_ms=100) is Verdict.WAIT
    assert verdict(age_ms=-HOUR, stored_ms=60_000) is Verdict.CHECK


@pytest.mark.parametrize(
    ("text", "age_ms", "expected"),
    [
        ("60", 59_999, Verdict.KEEP),
        ("60", 60_000, Verdict.CHECK),
        ("0", 0, Verdict.CHECK),
        ("-5", 0, Verdict.CHECK),
        ("-1", 0, Verdict.WAIT),
        ("soon", 0, Verdict.WAIT),
    ],
)
def test_producer_may_set_the_time_before_the_first_check(
    text: str, age_ms: int, expected: Verdict
) -> None:
    assert verdict(age_ms, 100, CHECK_IMMUNITY_TIME_IN_SECONDS=text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("14", Verdict.CHECK), ("15", Verdict.GIVE_UP), ("x", Verdict.CHECK), ("-9", Verdict.CHECK)],
)
def test_half_message_is_given_up_after_fifteen_checks(text: str, expected: Verdict) -> None:
    assert verdict(TRANSACTION_CHECK_TIMES=text) is expected


def test_half_message_is_checked_at_the_latest_when_files_expire() -> None:
    assert verdict(72 * HOUR - 1, CHECK_IMMUNITY_TIME_IN_SECONDS="999999") is Verdict.KEEP
    assert verdict(72 * HOUR, CHECK_IMMUNITY_TIME_IN_SECONDS="999999") is Verdict.CHECK


def test_producer_clock_that_is_days_late_does_not_expire_a_half_message() -> None:
    assert verdict(96 * HOUR) is Verdict.CHECK
    assert verdict(96 * HOUR, stored_ms=100) is Verdict.WAIT
    assert verdict(NOW, CHECK_IMMUNITY_TIME_IN_SECONDS="60") is Verdict.CHECK


@pytest.mark.parametrize("name", ["REAL_TOPIC", "REAL_QID", "PGROUP"])
def test_half_without_a_producer_to_ask_is_given_up(name: str) -> None:
    assert verdict(lacks=name) is Verdict.GIVE_UP
