"""Messages of a queue from an offset on, as RocketMQ's getMessage answers them.

    NO_MATCHED_LOGIC_QUEUE  there is no such queue                          next: 0
    NO_MESSAGE_IN_QUEUE     it never had a message                                0
    OFFSET_TOO_SMALL        the log has lost the message                          the minimum
    OFFSET_OVERFLOW_ONE     it comes next: worth waiting for                      the same
    OFFSET_OVERFLOW_BADLY   it is further away than that                          the maximum
    OFFSET_FOUND_NULL       the queue's file is missing                           the next file
    NO_MATCHED_MESSAGE      the filter let none pass                              behind the last
    MESSAGE_WAS_REMOVING    the log lost them while we looked                     behind the last
    FOUND                                                                         behind the last

A pull looks at 800 units, or at as many as messages were asked for. Its answer is full when the
next message would exceed what was asked for, or the bytes or count that the settings allow: more
of them for recent messages, less for those so far behind the log's end that they are likely not in
memory any more. The first message always fits.

Records go out as they lie in the log: neighbours in one piece, and neither body nor properties are
looked at unless there is a filter for them. But each must say that it has the unit's size and lies
where the unit says. One that does not ends the answer before it; at the very start it is a
CorruptionError, for skipping an acknowledged message is for people to decide.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NoReturn, TypeAlias, final

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.errors import CorruptionError
from gantrymq.store.consumequeue import ConsumeQueue
from gantrymq.store.queue_unit import UNIT
from gantrymq.store.readings import Reading
from gantrymq.store.sources import (
    RECORD_BYTES_MAX,
    ReadableStore,
    log_bytes,
    queue_units,
    readable_end,
)
from gantrymq.wire.message.record import MAGIC_V1, MAGIC_V2, RECORD_BYTES_MIN, Record, decode

UNITS_MAX: Final = 800

# Records of other queues between two of ours: read along, rather than read twice.
GAP_BYTES: Final = 16 << 10

_MAGICS: Final = (MAGIC_V1, MAGIC_V2)
_unpack_head: Final = struct.Struct(">ii20xq").unpack_from  # size, magic, physical offset

Chosen: TypeAlias = list[tuple[int, int, int]]
"""Queue offset, position and size of records that fit into the answer."""


class PullStatus(Enum):
    """What became of a pull, in Java's names."""

    FOUND = "messages were found"
    NO_MATCHED_LOGIC_QUEUE = "there is no such queue"
    NO_MESSAGE_IN_QUEUE = "the queue never had a message"
    OFFSET_TOO_SMALL = "the message was deleted"
    OFFSET_OVERFLOW_ONE = "the message comes next"
    OFFSET_OVERFLOW_BADLY = "the queue ends before"
    OFFSET_FOUND_NULL = "a file of the queue is missing"
    NO_MATCHED_MESSAGE = "the filter let no message pass"
    MESSAGE_WAS_REMOVING = "the messages were deleted meanwhile"


@final
@dataclass(slots=True)
class PullQuery:
    """What a consumer asks for. `tags` decides by the unit's tags code, `matches` by the record.

    Who `keeps_offset` is not corrected: a slave leaves that to its master, unless it has
    offsetCheckInSlave. Hot, hence not frozen; treat it as a value.
    """

    topic: str
    queue_id: int
    offset: int
    count_max: int
    tags: Callable[[int], bool] | None = None
    matches: Callable[[Record], bool] | None = None
    keeps_offset: bool = False


@final
@dataclass(slots=True)
class Pulled:
    """The answer; `chunks` are the records behind each other. Hot, but a value as well."""

    status: PullStatus
    next_offset: int
    minimum: int
    maximum: int
    chunks: Sequence[bytes] = ()
    count: int = 0
    size: int = 0
    suggests_slave: bool = False


def pull(store: ReadableStore, query: PullQuery, physical_memory_bytes: int) -> Reading[Pulled]:
    """Answer the query from what consumers may see."""
    queue = store.queues.find(query.topic, query.queue_id)
    if queue is None:
        return _corrected(query, PullStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
    end = yield from readable_end(queue, store.readable)
    minimum = queue.minimum
    offset = query.offset
    if end == 0:
        return _corrected(query, PullStatus.NO_MESSAGE_IN_QUEUE, 0, minimum, end)
    if offset < minimum:
        return _corrected(query, PullStatus.OFFSET_TOO_SMALL, minimum, minimum, end)
    if offset == end:
        return _corrected(query, PullStatus.OFFSET_OVERFLOW_ONE, offset, minimum, end)
    if offset > end:
        return _corrected(query, PullStatus.OFFSET_OVERFLOW_BADLY, end, minimum, end)
    batch = _Batch(store, query, queue, end, physical_memory_bytes)
    yield from batch.collect()
    return batch.answer()


def _corrected(
    query: PullQuery, status: PullStatus, next_offset: int, minimum: int, maximum: int
) -> Pulled:
    if query.keeps_offset:
        next_offset = query.offset
    return Pulled(status, next_offset, minimum, maximum)


@final
class _Batch:
    """The messages of one answer, as they are gathered."""

    __slots__ = (
        "_chunks",
        "_cold",
        "_count",
        "_end",
        "_hot",
        "_last_position",
        "_log",
        "_memory_bytes",
        "_next",
        "_query",
        "_queue",
        "_size",
        "_status",
        "_stop",
    )

    def __init__(
        self,
        store: ReadableStore,
        query: PullQuery,
        queue: ConsumeQueue,
        end: int,
        physical_memory_bytes: int,
    ) -> None:
        settings = store.settings
        self._log = store.log
        self._query = query
        self._queue = queue
        self._end = end
        ratio = settings.access_message_in_memory_max_ratio
        self._memory_bytes = physical_memory_bytes * ratio // 100
        self._hot = (
            min(query.count_max, settings.max_transfer_count_on_message_in_memory),
            settings.max_transfer_bytes_on_message_in_memory,
        )
        self._cold = (
            min(query.count_max, settings.max_transfer_count_on_message_in_disk),
            settings.max_transfer_bytes_on_message_in_disk,
        )
        self._next = query.offset
        self._stop = min(end, query.offset + max(UNITS_MAX, query.count_max))
        self._last_position = 0
        self._status = PullStatus.NO_MATCHED_MESSAGE
        self._chunks: list[bytes] = []
        self._count = 0
        self._size = 0

    def collect(self) -> Reading[None]:
        """Look at units until the answer is full, or enough were looked at."""
        query = self._query
        units_max = UNITS_MAX
        if query.tags is None and query.matches is None:
            units_max = min(max(1, query.count_max), UNITS_MAX)
        is_long = False
        while self._next < self._stop and not 0 < query.count_max <= self._count:
            if is_long:
                yield None
            before = self._next
            try:
                count = min(units_max, self._stop - before)
                units = yield from queue_units(self._queue, before, count)
            except DiskError as error:
                if error.failure is not DiskFailure.NOT_FOUND:
                    raise
                self._skip_file()
                return
            if not units:
                self._stop_at(before, "the queue's file ends before it")
            yield from self._read(self._choose(units))
            if self._next == before:
                return
            is_long = query.matches is not None or self._next - before == UNITS_MAX

    def answer(self) -> Pulled:
        """What was gathered."""
        minimum = self._queue.minimum
        if self._status is PullStatus.OFFSET_FOUND_NULL:
            return _corrected(self._query, self._status, self._next, minimum, self._end)
        behind_bytes = self._log.end - self._last_position
        return Pulled(
            PullStatus.FOUND if self._count else self._status,
            self._next,
            minimum,
            self._end,
            self._chunks,
            self._count,
            self._size,
            behind_bytes > self._memory_bytes,
        )

    def _choose(self, units: bytes) -> Chosen:
        """What fits if all of it passes; `next` moves behind the last unit looked at."""
        log_start, log_end = self._log.start, self._log.end
        hot_start = log_end - self._memory_bytes
        hot, cold = self._hot, self._cold
        tags = self._query.tags
        count, total, number = self._count, self._size, self._next
        chosen: Chosen = []
        for position, size, tags_code in UNIT.iter_unpack(units):
            count_max, bytes_max = hot if position >= hot_start else cold
            if count and (count >= count_max or total + size > bytes_max):
                break
            if tags is not None and not tags(tags_code):
                self._status = PullStatus.NO_MATCHED_MESSAGE
            elif 0 <= position < log_start:
                self._status = PullStatus.MESSAGE_WAS_REMOVING
            elif not (
                RECORD_BYTES_MIN <= size <= RECORD_BYTES_MAX
                and log_start <= position <= log_end - size
            ):
                self._stop_at(number, f"its unit says {size} bytes at {position} of the log")
                break
            else:
                chosen.append((number, position, size))
                count += 1
                total += size
            self._last_position = position
            number += 1
        self._next = number
        return chosen

    def _read(self, chosen: Chosen) -> Reading[None]:
        """Read the records, neighbours at once, and add those that pass."""
        at = 0
        while at < len(chosen) and chosen[at][0] < self._next:
            stop, end = _neighbours(chosen, at, self._log.segments.file_bytes)
            start = chosen[at][1]
            data = yield from log_bytes(self._log, start, end - start)
            self._add(chosen[at:stop], start, data)
            at = stop

    def _add(self, chosen: Chosen, start: int, data: bytes) -> None:
        """Add records of what was read from `start` on, in as few pieces as they lie in."""
        matches = self._query.matches
        count = total = piece = piece_end = number = 0
        try:
            for number, position, size in chosen:  # noqa: B007 - the one that was damaged
                at = position - start
                if at + size > len(data):
                    self._miss(position)
                    continue
                said_size, magic, said_position = _unpack_head(data, at)
                if said_size != size or said_position != position or magic not in _MAGICS:
                    _refuse(size, position)
                if matches is not None and not matches(decode(data, at, verify_body=False)):
                    self._status = PullStatus.NO_MATCHED_MESSAGE
                    continue
                if at != piece_end:
                    self._put(data[piece:piece_end])
                    piece = at
                piece_end = at + size
                count += 1
                total += size
        except CorruptionError as error:
            self._stop_at(number, str(error))
        self._put(data[piece:piece_end])
        self._count += count
        self._size += total

    def _miss(self, position: int) -> None:
        """This record was not read: its file was removed meanwhile, or cut by other hands."""
        if position >= self._log.start:
            raise CorruptionError(f"the log's file ends before the record at {position}")
        self._status = PullStatus.MESSAGE_WAS_REMOVING

    def _put(self, piece: bytes) -> None:
        if piece:
            self._chunks.append(piece)

    def _skip_file(self) -> None:
        """The queue's file is missing: the answer ends before it, or leads behind it."""
        if self._count == 0:
            file_units = self._queue.folders.file_units
            self._status = PullStatus.OFFSET_FOUND_NULL
            self._next = self._next - self._next % file_units + file_units

    def _stop_at(self, offset: int, fault: str) -> None:
        """This message cannot be given: the answer ends before it, or there is none."""
        queue = self._queue
        if offset == self._query.offset:
            raise CorruptionError(
                f"message {offset} of queue {queue.queue_id} of topic {queue.topic} is damaged: "
                f"{fault}; see what is left of it: gantry store check; to go on without it, set "
                f"the consumers' offset to {offset + 1}"
            )
        self._next = self._stop = offset


def _neighbours(chosen: Chosen, first: int, file_bytes: int) -> tuple[int, int]:
    """Up to which of them, from `first` on, to read at once; where the last of these ends."""
    _, start, size = chosen[first]
    end = start + size
    file_end = start - start % file_bytes + file_bytes
    for number in range(first + 1, len(chosen)):
        _, position, size = chosen[number]
        if not end <= position <= end + GAP_BYTES or position + size > file_end:
            return number, end
        end = position + size
    return len(chosen), end


def _refuse(size: int, position: int) -> NoReturn:
    raise CorruptionError(f"the log has no record of {size} bytes at {position}")
