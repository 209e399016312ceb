"""Truncates a sound log, because the replica group continues with another member's log.

This member was the master, has records that no other member has, and now follows a newer master.

    gantry/cut   the request: "GFC2" | crc32 of the rest 4 | position 8 | shared 8 | epoch 8

The next start carries the request out before anything else:

    place     find the end of the last record that lies whole below the position
    tail      save what lies behind to a file of its own (truncated_tails.py), and sync it; bytes
              below `shared` are left out, because the log of the epoch's master has them too
    flush positions
              lower them to the place, and sync them: nothing above is promised any more. Before
              that, note that queues have units of what is cut (dirty_queues.py): they are wiped
              where they lie behind the queue's end
    log       truncate it there. Queues and index follow as after a crash, and queues that were
              replaced by a message behind the place are rebuilt (replaced_queues.py). If no record
              is left, they are removed: the log that is copied next may begin below the one that
              was cut
    request   remove it

Invariant: a truncation may stop anywhere and can be repeated. Records that no other member has are
still on disk afterwards, in the file of the tail.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from isal.isal_zlib import crc32

from gantrymq.base.disk import Disk
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.commitlog.log_walk import LogWalk
from gantrymq.store.commitlog.truncated_tails import (
    TAILS,
    UNFINISHED,
    TruncatedTail,
    make_room,
    path_of,
)
from gantrymq.store.files import atomic_file
from gantrymq.store.files.dirty_queues import DirtyQueues
from gantrymq.store.files.flush_positions import VOID, FlushPositionsFile, LogPosition
from gantrymq.store.files.segments import Segments
from gantrymq.store.layout import OWN, StoreRefusedError
from gantrymq.store.progress import Progress, ProgressTask

PATH: Final = f"{OWN}/cut"
MAGIC: Final = b"GFC2"
CHUNK_BYTES: Final = 4 << 20

_CRC: Final = struct.Struct(">I")
_REQUEST: Final = struct.Struct(">qqq")


@final
@dataclass(frozen=True, slots=True)
class TruncationRequest:
    """A request to truncate the log at this position, because an epoch's master has another log."""

    position: int
    shared: int = 0
    """The master's log has everything below this too, even what is cut; 0: only what is below the
    cut."""
    epoch: int = 0


def request(disk: Disk, wanted: TruncationRequest) -> None:
    """Make the next start truncate the log. The request is synced when this returns."""
    body = _REQUEST.pack(wanted.position, wanted.shared, wanted.epoch)
    atomic_file.replace(disk, PATH, MAGIC + _CRC.pack(crc32(body)) + body)


def requested(disk: Disk) -> TruncationRequest | None:
    """The truncation that is requested, or None."""
    data = atomic_file.content(disk, PATH, 1 << 10)
    if data is None:
        return None
    body = data[8:]
    if data[:8] != MAGIC + _CRC.pack(crc32(body)) or len(body) != _REQUEST.size:
        raise StoreRefusedError(
            f"{PATH} is damaged. It requests a truncation of the log of a member that follows a new"
            " master. Remove it: the member then compares its log with its master again"
        )
    return TruncationRequest(*_REQUEST.unpack(body))


@final
class LogTruncation:
    """One requested truncation. The log's files are loaded, but not read yet."""

    __slots__ = (
        "_disk",
        "_flush_positions",
        "_reader",
        "_request",
        "_segments",
        "_tails_bytes_max",
        "kept_tail",
        "leaves_nothing",
        "removed_tails",
    )

    def __init__(
        self,
        disk: Disk,
        segments: Segments,
        flush_positions: FlushPositionsFile,
        reader: EntryReader,
        wanted: TruncationRequest,
        tails_bytes_max: int,
    ) -> None:
        """At most `tails_bytes_max` bytes of tails are kept, unless this one alone is longer."""
        self._disk = disk
        self._flush_positions = flush_positions
        self._reader = reader
        self._segments = segments
        self._tails_bytes_max = tails_bytes_max
        self._request = wanted
        self.kept_tail = ""
        """The path of the saved tail, or ""."""
        self.removed_tails: Sequence[TruncatedTail] = ()
        """The older tails that were deleted to make room."""
        self.leaves_nothing = False
        """Whether the log has no record any more."""

    def run(self) -> ProgressTask[None]:
        """Save the tail, then truncate the log. The progress is in bytes of the tail. The caller
        calls `end` next."""
        place = self._place(self._request.position)
        self.leaves_nothing = place == LogPosition(place.position)
        yield from self._keep_tail(max(place.position, self._place(self._request.shared).position))
        DirtyQueues(self._disk).write()  # from here on queues may be longer than the log
        positions = self._flush_positions.latest
        if positions is None:
            self._flush_positions.settle(VOID)
        else:
            below = place.position
            queues, index = min(positions.queues, below), min(positions.index, below)
            log = place if below < positions.log.position else positions.log
            self._flush_positions.settle(replace(positions, log=log, queues=queues, index=index))
        self._segments.truncate(place.position)

    def end(self) -> None:
        """Remove the request, which is done."""
        atomic_file.remove(self._disk, PATH)
        self._disk.sync_folder(OWN)

    def _place(self, position: int) -> LogPosition:
        """The end of the last record that lies whole below the position."""
        segments = self._segments
        start = segments.start_of(max(segments.first, min(position, segments.past) - 1))
        while True:
            mark = LogPosition(start)
            walk = LogWalk(segments, self._reader, mark)
            for entries in walk.chunks():
                for entry in entries:
                    end = entry.physical_offset + entry.size
                    if end > position:
                        break
                    mark = LogPosition(end, entry.physical_offset, entry.store_timestamp_ms)
                if walk.position >= position:
                    break
            if mark.record_start or start == segments.first:
                return mark
            start -= segments.file_bytes

    def _keep_tail(self, start: int) -> ProgressTask[None]:
        end = self._end(start)
        if end == start:
            return
        crc = 0
        for data in self._pieces(start, end):
            crc = crc32(data, crc)
        epoch = self._request.epoch
        path = path_of(start, end, epoch, crc)
        self._disk.make_folder(OWN)
        self._disk.make_folder(TAILS)
        self.removed_tails = make_room(self._disk, start, end, epoch, self._tails_bytes_max)
        file = self._disk.create(path + UNFINISHED)
        try:
            done = 0
            for data in self._pieces(start, end):
                file.write(done, [data])
                done += len(data)
                yield Progress("cut", done, end - start)
            file.sync()
        finally:
            file.close()
        self._disk.rename(path + UNFINISHED, path)
        self._disk.sync_folder(TAILS)
        self._disk.sync_folder(OWN)
        self.kept_tail = path

    def _end(self, start: int) -> int:
        """The end of the log; equal to `start` only if an earlier attempt has cut it."""
        walk = LogWalk(self._segments, self._reader, LogPosition(start))
        for _ in walk.chunks():
            pass
        return walk.mark.position

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            data = self._segments.read(start, min(CHUNK_BYTES, end - start))
            yield data
            start += len(data)
