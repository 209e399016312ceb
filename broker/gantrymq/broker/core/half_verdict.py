"""What a round of checks does about one open half message."""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.transactions import checks_of, group_of, place_of
from gantrymq.wire.header_fields import parse_int64
from gantrymq.wire.message import properties
from gantrymq.wire.message.property_names import CHECK_IMMUNITY_TIME_IN_SECONDS
from gantrymq.wire.message.record import Record

MS_AN_HOUR: Final = 3_600_000


class Verdict(Enum):
    """In the order in which they are thought of."""

    GIVE_UP = "nobody will decide any more"
    KEEP = "its producer wants to be left alone for longer"
    WAIT = "it is young, and so are all behind it"
    CHECK = "ask its producer"


def judge(
    half: Record, settings: BrokerSettings, file_reserved_hours: int, wall_ms: int
) -> Verdict:
    """Ages that a producer states go by its clock, as in Java; ours are from the store's: one whose
    clock is late must not be asked while it still works.

    However old it seems, it is given up only after it was asked after often enough: by a clock that
    is days late a transaction that has just begun is older than any file. How long it may be kept
    without being asked after is bounded by that age.
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
    """Why one is given up that was not checked as often as it could be."""
    if place_of(half) is None or not group_of(half):
        return "does not say its topic, queue and producer group"
    return "has no room for what a check adds to it"


def immunity_ms_of(half: Record) -> int | None:
    """How long its producer does not want to be asked; None when it did not say."""
    text = properties.get(half.properties, CHECK_IMMUNITY_TIME_IN_SECONDS)
    try:
        seconds = -1 if text is None else parse_int64(text)
    except ValueError:
        seconds = -1
    return None if seconds == -1 else seconds * 1000
