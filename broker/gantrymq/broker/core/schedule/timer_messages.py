"""Decodes the messages of the timer queue, and builds the messages that are delivered or rolled.

All of it runs within a reading, which is retried on failure, because a log may contain anything.
Repeating it does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gantrymq.broker.core.schedule.message_restore import Run, copy_to, restore
from gantrymq.broker.core.schedule.timers import TIMER_TOPIC, delete_key, out_ms_of
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

_TIMES_DIGITS_MAX: Final = 9  # at one roll a minute, enough for two thousand years


class Timed(NamedTuple):
    """The part of a timer message that is kept in memory while it waits."""

    offset: int
    second: int
    stored_ms: int
    is_recall: bool


class TimedRun(NamedTuple):
    """Consecutive messages; `timed` lacks those that are unreadable or have no due time."""

    run: Run
    timed: Sequence[Timed]


class Due(NamedTuple):
    """The result of reading due messages: those to deliver, as they were sent, and counts of the
    rest."""

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
    """Build the due messages; `recalled` has the keys of recalled ones, and is extended."""
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
        elif (restored := restore(record)) is None:
            missing += 1
        else:
            _add(restored, TIMER_ENQUEUE_MS, record.store_timestamp_ms)
            _add(restored, TIMER_DEQUEUE_MS, wall_ms)
            due.append(restored)
    return Due(len(records), due, kept_back, missing)


def _key_of(record: Record) -> str:
    """The key by which a recall names this message."""
    topic = properties.get(record.properties, REAL_TOPIC) or ""
    return delete_key(topic, properties.get(record.properties, UNIQ_KEY) or "")


def copies_of(records: Sequence[Record | None]) -> list[Record | None]:
    """Copies of the messages for the end of the timer queue."""
    return [each and _copy_of(each) for each in records]


def _copy_of(record: Record) -> Record:
    copy = copy_to(record, TIMER_TOPIC, 0)
    times = properties.get(record.properties, TIMER_ROLL_TIMES) or ""
    # Producers may set this property to anything, and int() refuses thousands of digits.
    is_count = times.isdecimal() and len(times) <= _TIMES_DIGITS_MAX
    _add(copy, TIMER_ROLL_TIMES, int(times) + 1 if is_count else 1)
    return copy


def _add(record: Record, name: str, number: int) -> None:
    """Set a property if there is room: an informative property must not lose a message."""
    longer = properties.replace(record.properties, name, str(number))
    if len(longer) <= PROPERTIES_BYTES_MAX:
        record.properties = longer
