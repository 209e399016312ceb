"""What the messages in the timer queue say, and what is made of them.

All of it happens behind a reading, where a failure has the reading tried again: what stands in a
log may be anything. Doing it twice does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gantrymq.broker.core.timers import TIMER_TOPIC, delete_key, out_ms_of
from gantrymq.broker.core.waiting_messages import Run, copy_to, lead_back
from gantrymq.wire.message import properties
from gantrymq.wire.message.property_names import (
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_ROLL_TIMES,
    UNIQ_KEY,
)
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX, Record

_TIMES_DIGITS_MAX: Final = 9  # once a minute, that is for two thousand years


class Timed(NamedTuple):
    """As much of a message as is kept while it waits."""

    offset: int
    second: int
    stored_ms: int
    is_recall: bool


class TimedRun(NamedTuple):
    """Messages behind each other; `timed` lacks those that can not be read or do not say when."""

    run: Run
    timed: Sequence[Timed]


class Due(NamedTuple):
    """What comes of a second's messages: those that it delivers, as they were sent."""

    looked_at: int
    messages: Sequence[Record]
    recalled: int
    missing: int


def timed_of(run: Run) -> TimedRun:
    timed: list[Timed] = []
    for offset, record in enumerate(run.records, run.first):
        out_ms = None if record is None else out_ms_of(record)
        if record is not None and out_ms is not None:
            is_recall = properties.get(record.properties, TIMER_DEL_UNIQKEY) is not None
            timed.append(Timed(offset, out_ms // 1000, record.store_timestamp_ms, is_recall))
    return TimedRun(run, timed)


def due_of(recalled: set[str], wall_ms: int, records: Sequence[Record | None]) -> Due:
    """`recalled` has the keys of what is not to be delivered; those that these name are added."""
    due: list[Record] = []
    kept_back = missing = 0
    for record in records:
        if record is None:
            missing += 1
            continue
        key = properties.get(record.properties, TIMER_DEL_UNIQKEY)
        if key is not None:
            recalled.add(key)
        elif recalled and _key_of(record) in recalled:
            kept_back += 1
        elif (restored := lead_back(record)) is None:
            missing += 1
        else:
            _add(restored, TIMER_ENQUEUE_MS, record.store_timestamp_ms)
            _add(restored, TIMER_DEQUEUE_MS, wall_ms)
            due.append(restored)
    return Due(len(records), due, kept_back, missing)


def _key_of(record: Record) -> str:
    """What recalls it."""
    topic = properties.get(record.properties, REAL_TOPIC) or ""
    return delete_key(topic, properties.get(record.properties, UNIQ_KEY) or "")


def copies_of(records: Sequence[Record | None]) -> list[Record | None]:
    """The messages once more, at the end of the timer queue."""
    return [each and _copy_of(each) for each in records]


def _copy_of(record: Record) -> Record:
    copy = copy_to(record, TIMER_TOPIC, 0)
    times = properties.get(record.properties, TIMER_ROLL_TIMES) or ""
    # Producers may say it as well, and anything: int() refuses what has thousands of digits.
    is_count = times.isdecimal() and len(times) <= _TIMES_DIGITS_MAX
    _add(copy, TIMER_ROLL_TIMES, int(times) + 1 if is_count else 1)
    return copy


def _add(record: Record, name: str, number: int) -> None:
    """Where there is room for it: no message is lost for what nobody needs."""
    longer = properties.replace(record.properties, name, str(number))
    if len(longer) <= PROPERTIES_BYTES_MAX:
        record.properties = longer
