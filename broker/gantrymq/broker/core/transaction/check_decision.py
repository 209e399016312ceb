"""Decides what a round of transaction checks does with one open half message."""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.transaction.transactions import checks_of, group_of, place_of
from gantrymq.wire.header_fields import parse_int64
from gantrymq.wire.message import properties
from gantrymq.wire.message.property_names import CHECK_IMMUNITY_TIME_IN_SECONDS
from gantrymq.wire.message.record import Record

MS_AN_HOUR: Final = 3_600_000


class Verdict(Enum):
    """What to do with an open half message, in the order of evaluation."""

    GIVE_UP = "it was checked often enough, or cannot be checked"
    KEEP = "its immunity time is not over"
    WAIT = "it is younger than transactionTimeOut, and so are all after it"
    CHECK = "ask its producer"


def judge(
    half: Record, settings: BrokerSettings, file_reserved_hours: int, wall_ms: int
) -> Verdict:
    """Decide what to do with an open half message.

    If the producer sent an immunity time, the age counts from the born timestamp, as in RocketMQ.
    Otherwise it counts from the store timestamp: a producer whose clock is behind must not be asked
    while it still works.

    However old a half message seems, it is given up only after enough checks, because by a clock
    that is days behind a new transaction is older than any file. The immunity time is limited to
    the retention time of files.
    """
    if (
        checks_of(half) >= settings.transaction_check_max
        or place_of(half) is None
        or not group_of(half)
    ):
        return Verdict.GIVE_UP
    immunity_ms = immunity_ms_of(half)
    if immunity_ms is not None:
        age_ms = wall_ms - half.born_timestamp_ms
        kept_ms = min(immunity_ms, file_reserved_hours * MS_AN_HOUR)
        return Verdict.KEEP if age_ms < kept_ms else Verdict.CHECK
    if 0 <= wall_ms - half.store_timestamp_ms < settings.transaction_time_out:
        return Verdict.WAIT
    return Verdict.CHECK


def why_too_soon(half: Record) -> str:
    """Why a half message is given up before it was checked as often as allowed."""
    if place_of(half) is None or not group_of(half):
        return "does not say its topic, queue and producer group"
    return "has no room for what a check adds to it"


def immunity_ms_of(half: Record) -> int | None:
    """The time in ms before which its producer does not want to be asked; None if not given."""
    text = properties.get(half.properties, CHECK_IMMUNITY_TIME_IN_SECONDS)
    try:
        seconds = -1 if text is None else parse_int64(text)
    except ValueError:
        seconds = -1
    return None if seconds == -1 else seconds * 1000
