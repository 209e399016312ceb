"""Decides where recovery starts to read the log, and what it may trust.

Our flush positions are valid if the log has the record that they name. Then, after a clean stop
nothing below them is read, and after a crash the log is dispatched again from the queues' flush
position on.

Without valid flush positions Java wrote the directory last, and its rules apply:

    clean stop    from the file that contains the newest record that any queue knows
    crash         from the newest file whose first record is old enough for the checkpoint
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gantrymq.store.files.checkpoint import Checkpoint
from gantrymq.store.files.flush_positions import FlushPositions, LogPosition
from gantrymq.store.files.segments import Segments
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.record.walk import Found, LogItem, look
from gantrymq.wire.message.record import RECORD_BYTES_MIN


@final
@dataclass(frozen=True, slots=True)
class Start:
    """What is known about the log before it is read."""

    walk: LogPosition
    """Records from here on are checked and dispatched."""
    flushed: int
    """The log below is fsynced; what is kept above is written again."""
    torn_from: int
    """A record above may have lost sectors even if the CRC of its body is right."""


def record_at(segments: Segments, position: int) -> LogItem | None:
    """What lies at this position, or None if there is no file; waits for the disk."""
    if not segments.first <= position < segments.past:
        return None
    item = look(segments.read(position, RECORD_BYTES_MIN), 0, position, segments.file_bytes)
    if item.found is Found.MORE:
        item = look(segments.read(position, item.size), 0, position, segments.file_bytes)
    return item


def are_valid(positions: FlushPositions, segments: Segments) -> bool:
    """Whether the log still has the record that the flush positions name."""
    log = positions.log
    if log == LogPosition(log.position):  # the log was empty
        return segments.first == log.position
    item = record_at(segments, log.record_start)
    if item is None or item.record is None:
        return False
    ends_there = log.record_start + item.size == log.position
    return ends_there and item.record.store_timestamp_ms == log.store_timestamp_ms


def start_by_flush_positions(positions: FlushPositions, first: int, redone_from: int) -> Start:
    """`redone_from`: queues and index are complete below it."""
    position = max(redone_from, first)
    walk = positions.log if position >= positions.log.position else LogPosition(position)
    return Start(walk, positions.log.position, positions.log.position)


def start_after_java(segments: Segments, newest_known: int) -> Start:
    """After a clean stop; `newest_known` is where the newest record of any queue ends."""
    position = max(segments.first, segments.start_of(max(0, newest_known - 1)))
    return Start(LogPosition(position), POSITION_MAX, POSITION_MAX)


def start_after_javas_crash(segments: Segments, checkpoint: Checkpoint, *, safe: bool) -> Start:
    """`safe` (messageIndexSafe): also back to where the index misses nothing."""
    limit_ms = checkpoint.recovery_ms(with_index=safe)
    position = segments.past - segments.file_bytes
    while position > segments.first:
        item = record_at(segments, position)
        if item and item.record and 0 < item.record.store_timestamp_ms <= limit_ms:
            break
        position -= segments.file_bytes
    position = max(position, segments.first)
    return Start(LogPosition(position), position, POSITION_MAX)
