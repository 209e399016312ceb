"""Collects the messages of one pull, until its answer is full.

A pull looks at 800 units, or at as many as messages were asked for. Its answer is full when the
next message would exceed the requested count, or the bytes or count that the settings allow. They
allow more for recent messages, and less for those so far behind the log's end that they are
probably not in memory any more. The first message always fits.

A bulk pull, which batch readers use, has limits of its own, the same for all messages. It yields to
other reads after each piece of BULK_UNITS, its first one included, and caches no blocks of the log:
those are for consumers that read side by side.

A filter that looks at records is bounded by measured time. When the filters' share of the turn is
used up, the read pauses and continues in a later turn. After FILTERED_SECONDS the answer ends where
the filter has come to, so that the client, whose timeout is near, continues from there.

Records are sent as they lie in the log, neighbours in one piece. Body and properties are read only
if there is a filter for them. But each record must have the size and position that its unit says. A
record that does not ends the answer before it. If it is the first one, the pull raises
CorruptionError, because an operator must decide whether to skip an acknowledged message.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_be, read_i64_be
from mypy_extensions import i64

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.errors import CorruptionError
from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.consumequeue import ConsumeQueue
from gantrymq.store.read.async_reader import FILTER_REST, ReadTask
from gantrymq.store.read.pull_query import (
    FOUND,
    MESSAGE_WAS_REMOVING,
    NO_MATCHED_MESSAGE,
    Pulled,
    PullQuery,
    PullStatus,
    corrected,
)
from gantrymq.store.read.pull_units import UNIT_BYTES, check_head, neighbours, past_of, position_of
from gantrymq.store.read.readable_store import (
    RECORD_BYTES_MAX,
    ReadableStore,
    log_bytes,
    log_bytes_now,
    queue_units,
)
from gantrymq.store.read.work_meter import WorkMeter
from gantrymq.wire.message.record import decode

UNITS_MAX: Final = 800

# A bulk pull does this much without yielding: with messages of 1 KB some 0.2 ms of work, four of
# which a turn of the loop may do.
BULK_UNITS: Final = 128

# Copying larger records is as fast without blocks.
BLOCK_RECORD_BYTES_MAX: Final = 8192

# Half the time that RocketMQ's most impatient clients wait for the answer to a pull.
FILTERED_SECONDS: Final = 5.0

_RECORD_BYTES_MIN: Final = 91


@final
class PullBatch:
    """The messages of one answer; `pull` creates it, runs `collect` and returns its `answer`."""

    __slots__ = (
        "_chunks",
        "_cold_bytes",
        "_cold_count",
        "_count",
        "_end",
        "_first",
        "_hot_bytes",
        "_hot_count",
        "_is_bulk",
        "_last_position",
        "_log",
        "_memory_bytes",
        "_meter",
        "_missed_block",
        "_next",
        "_query",
        "_queue",
        "_size",
        "_status",
        "_stop",
        "_units",
        "_until",
    )

    def __init__(
        self,
        store: ReadableStore,
        query: PullQuery,
        queue: ConsumeQueue,
        end: i64,
        physical_memory_bytes: int,
    ) -> None:
        settings = store.settings
        count_max = query.count_max
        self._log: CommitLog = store.log
        self._query: PullQuery = query
        self._meter: WorkMeter | None = query.meter
        self._until: float = 0.0
        if query.meter is not None:
            self._until = query.meter.begin() + FILTERED_SECONDS
        self._queue: ConsumeQueue = queue
        self._end: i64 = end
        ratio = settings.access_message_in_memory_max_ratio
        self._memory_bytes: i64 = physical_memory_bytes * ratio // 100
        self._is_bulk: bool = query.bulk_bytes_max > 0
        self._hot_count: i64 = settings.max_transfer_count_on_message_in_memory
        self._hot_bytes: i64 = settings.max_transfer_bytes_on_message_in_memory
        self._cold_count: i64 = settings.max_transfer_count_on_message_in_disk
        self._cold_bytes: i64 = settings.max_transfer_bytes_on_message_in_disk
        if self._is_bulk:
            bytes_max: i64 = settings.max_transfer_bytes_on_bulk_pull
            self._hot_bytes = self._cold_bytes = min(query.bulk_bytes_max, bytes_max)
            self._hot_count = self._cold_count = settings.max_transfer_count_on_bulk_pull
        self._hot_count = min(self._hot_count, count_max)
        self._cold_count = min(self._cold_count, count_max)
        self._next: i64 = query.offset
        self._stop: i64 = min(end, query.offset + max(UNITS_MAX, count_max))
        self._last_position: i64 = 0
        self._missed_block: i64 = -1
        """The last block that was not cached. A pull counts as one look at it."""
        self._units: bytes = b""
        """The units that are being read; the first one has the number `_first`."""
        self._first: i64 = 0
        self._status: PullStatus = NO_MATCHED_MESSAGE
        self._chunks: list[bytes] = []
        self._count: i64 = 0
        self._size: i64 = 0

    def collect(self) -> ReadTask[None]:
        """Read units until the answer is full, or enough units were read."""
        query = self._query
        is_long = self._is_bulk
        while self._next < self._stop and not 0 < query.count_max <= self._count:
            if is_long:
                yield None
            before: i64 = self._next
            count: i64 = min(self._units_max(), self._stop - before)
            try:
                units = self._queue.read(before, count)
                if units is None:
                    units = yield from queue_units(self._queue, before, count)
            except DiskError as error:
                if error.failure is not DiskFailure.NOT_FOUND:
                    raise
                self._skip_file()
                return
            if not units:
                self._stop_at(before, "the queue's file ends before it")
            chosen = self._choose(units)
            read = self._read_now(chosen, 0)
            if read < len(chosen):
                yield from self._read_rest(chosen, read)
            if self._next == before:
                return
            is_long = self._is_bulk or query.matches is not None or self._next - before == UNITS_MAX

    def answer(self) -> Pulled:
        """The answer with the messages collected."""
        minimum: i64 = self._queue.minimum
        if self._status is PullStatus.OFFSET_FOUND_NULL:
            return corrected(self._query, self._status, self._next, minimum, self._end)
        behind_bytes: i64 = self._log.end - self._last_position
        return Pulled(
            FOUND if self._count else self._status,
            self._next,
            minimum,
            self._end,
            self._chunks,
            self._count,
            self._size,
            suggests_slave=behind_bytes > self._memory_bytes,
        )

    def _units_max(self) -> i64:
        """How many units to read next: without a filter, as many as messages are wanted."""
        query = self._query
        if self._is_bulk:
            return BULK_UNITS
        if query.tags is None and query.matches is None:
            return min(max(1, query.count_max), UNITS_MAX)
        return UNITS_MAX

    def _choose(self, units: bytes) -> list[int]:
        """The indexes of the units that fit if all of them pass the filter. `_next` moves behind
        the last unit looked at."""
        log_start: i64 = self._log.start
        log_end: i64 = self._log.end
        hot_start: i64 = log_end - self._memory_bytes
        tags = self._query.tags
        count, total = self._count, self._size
        self._units = units
        self._first = number = self._next
        chosen: list[int] = []
        at: i64 = 0
        while at < len(units):
            position = read_i64_be(units, at)
            size = i64(read_i32_be(units, at + 8))
            is_hot = position >= hot_start
            count_max: i64 = self._hot_count if is_hot else self._cold_count
            bytes_max: i64 = self._hot_bytes if is_hot else self._cold_bytes
            if count > 0 and (count >= count_max or total + size > bytes_max):
                break
            if tags is not None and not tags(int(read_i64_be(units, at + 12))):
                self._status = NO_MATCHED_MESSAGE
            elif 0 <= position < log_start:
                self._status = MESSAGE_WAS_REMOVING
            elif not (
                _RECORD_BYTES_MIN <= size <= RECORD_BYTES_MAX
                and log_start <= position <= log_end - size
            ):
                self._stop_at(number, f"its unit says {size} bytes at {position} of the log")
                break
            else:
                chosen.append(number - self._first)
                count += 1
                total += size
            self._last_position = position
            number += 1
            at += UNIT_BYTES
        self._next = number
        return chosen

    def _is_left(self, chosen: list[int], at: i64) -> bool:
        """Whether there is a chosen unit `at`, before the answer's end."""
        return at < len(chosen) and self._first + chosen[at] < self._next

    def _read_now(self, chosen: list[int], first: i64) -> i64:
        """Read the chosen records from `first` on, neighbours at once, and add those that pass.
        Return the index of the first one that is not in memory, that the answer ends before, or for
        which the filter has no time in this turn."""
        at = first
        while self._is_left(chosen, at) and not self._is_out_of_time:
            stop = self._add_from_block(chosen, at)
            if stop == at:
                stop = neighbours(self._log, self._units, chosen, at)
                start = position_of(self._units, chosen[at])
                data = log_bytes_now(
                    self._log, start, past_of(self._units, chosen[stop - 1]) - start
                )
                if data is None:
                    break
                stop = self._add(chosen, at, stop, data, start)
            at = stop
        return at

    def _read_rest(self, chosen: list[int], first: i64) -> ReadTask[None]:
        """Do the same for all chosen records: read from disk what is not in memory, and continue in
        later turns if the filter needs them."""
        at = first
        while self._is_left(chosen, at):
            if self._is_out_of_time:
                yield FILTER_REST
                self._end_if_late(chosen[at])
                continue
            stop = neighbours(self._log, self._units, chosen, at)
            start = position_of(self._units, chosen[at])
            size = past_of(self._units, chosen[stop - 1]) - start
            data = yield from log_bytes(self._log, start, size)
            at = self._add(chosen, at, stop, data, start)
            while at < stop and self._is_left(chosen, at):
                yield FILTER_REST
                self._end_if_late(chosen[at])
                at = self._add(chosen, at, stop, data, start)
            at = self._read_now(chosen, at)

    @property
    def _is_out_of_time(self) -> bool:
        """Whether filters have used up their share of this turn; False without a filter."""
        meter = self._meter
        return meter is not None and meter.left <= 0

    def _end_if_late(self, place: i64) -> None:
        """End the answer before this unit if the filter has taken too long.

        A pull that has made no progress, because other filters used all the time, reads one record
        first: otherwise a client that asks again would never get on.
        """
        meter = self._meter
        reached: i64 = self._first + place
        if meter is not None and reached > self._query.offset and meter.begin() > self._until:
            self._next = self._stop = reached

    def _add_from_block(self, chosen: list[int], first: i64) -> i64:
        """Add the records from `first` on that lie in one cached block. Return the index of the
        first one that does not, or for which the filter has no time in this turn."""
        position, end = position_of(self._units, chosen[first]), past_of(self._units, chosen[first])
        if self._is_bulk or end - position > BLOCK_RECORD_BYTES_MAX:
            return first
        start: i64 = self._log.block_start(position)
        if start == self._missed_block:
            return first
        block = self._log.block(position)
        if block is None:
            self._missed_block = start
            return first
        block_end: i64 = start + len(block)
        stop = first
        while start <= position and end <= block_end:
            stop += 1
            if stop == len(chosen):
                break
            position, end = (
                position_of(self._units, chosen[stop]),
                past_of(self._units, chosen[stop]),
            )
        if stop > first:
            stop = self._add(chosen, first, stop, block, start)
        return stop

    def _add(self, chosen: list[int], first: i64, stop: i64, data: bytes, start: i64) -> i64:
        """Add the records in `data`, which begins at position `start`, in as few pieces as
        possible. Return the index of the first one not looked at; it is before `stop` if the
        filter's time for this turn is used up."""
        matches, meter = self._query.matches, self._meter
        if meter is not None:
            if meter.left <= 0:
                return first
            meter.begin()
        piece: i64 = 0
        piece_end: i64 = 0
        number = first
        try:
            while number < stop:
                place: i64 = chosen[number]
                number += 1
                at = position_of(self._units, place) - start
                end = past_of(self._units, place) - start
                if end > len(data):
                    self._miss(start + at)
                    continue
                check_head(data, at, end - at, start + at)
                if matches is not None:
                    is_match = matches(decode(data, int(at), verify_body=False))
                    if meter is not None:
                        meter.lap()
                        if meter.left <= 0:
                            stop = number
                    if not is_match:
                        self._status = NO_MATCHED_MESSAGE
                        continue
                if at != piece_end:
                    self._put(data[piece:piece_end])
                    piece = at
                piece_end = end
                self._count += 1
                self._size += end - at
        except CorruptionError as error:
            self._stop_at(self._first + chosen[number - 1], str(error))
        self._put(data[piece:piece_end])
        return number

    def _miss(self, position: i64) -> None:
        """Handle a record that was not read: its file was removed meanwhile, or truncated by
        another program."""
        if position >= self._log.start:
            raise CorruptionError(f"the log's file ends before the record at {position}")
        self._status = MESSAGE_WAS_REMOVING

    def _put(self, piece: bytes) -> None:
        if piece:
            self._chunks.append(piece)

    def _skip_file(self) -> None:
        """Handle a missing file of the queue: end the answer before it, or continue behind it."""
        if self._count == 0:
            file_units: i64 = self._queue.folders.file_units
            self._status = PullStatus.OFFSET_FOUND_NULL
            self._next = self._next - self._next % file_units + file_units

    def _stop_at(self, offset: i64, fault: str) -> None:
        """End the answer before this message, which cannot be returned; raise if it is the first
        one."""
        queue = self._queue
        if offset == self._query.offset:
            raise CorruptionError(
                f"message {offset} of queue {queue.queue_id} of topic {queue.topic} is damaged: "
                f"{fault}; see what is left of it: gantry store check; to go on without it, set "
                f"the consumers' offset to {offset + 1}"
            )
        self._next = self._stop = offset
