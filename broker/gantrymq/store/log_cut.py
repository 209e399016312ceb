"""Cutting a log that is whole, because the group goes on with another one: a member that was master
has what no other member has, and follows a newer master now.

    gantry/cut   the wish: "GFC2" | crc32 of the rest 4 | position 8 | shared 8 | epoch 8

The next start carries the wish out, before it looks at anything else:

    the place   the end of the last record that lies whole below the position
    the tail    what lies behind goes to a file of its own (kept_tails.py), for good; but what is
                below `shared`, which is in the log of the epoch's master as well
    the marks   go down to the place, for good: nothing above it is promised any more. Before that,
                a note that queues hold units of what goes (unsettled.py): they are written over,
                where they lie behind the queue's end
    the log     is cut there; queues and index follow as after a crash, and what was replaced by a
                message behind it is made again (replaced_queues.py). Where no record is left they
                go as well: the log that is copied next may begin below the one that was cut
    the wish    goes

Invariant: it may stop anywhere and be done again. What was acknowledged to nobody else is still on
the disk afterwards, in the tail's file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from isal.isal_zlib import crc32

from gantrymq.base.disk import Disk
from gantrymq.store import own_file
from gantrymq.store.entries import EntryReader
from gantrymq.store.kept_tails import TAILS, UNFINISHED, KeptTail, make_room, path_of
from gantrymq.store.layout import OWN, StoreRefusedError
from gantrymq.store.log_walk import LogWalk
from gantrymq.store.marks import VOID, LogMark, MarksFile
from gantrymq.store.segments import Segments
from gantrymq.store.unsettled import UnsettledNote

PATH: Final = f"{OWN}/cut"
MAGIC: Final = b"GFC2"
CHUNK_BYTES: Final = 4 << 20

_CRC: Final = struct.Struct(">I")
_WISH: Final = struct.Struct(">qqq")


@final
@dataclass(frozen=True, slots=True)
class Wish:
    """Cut the log at this position, for it goes on with that of an epoch's master."""

    position: int
    shared: int = 0
    """What lies below this is the master's as well, cut or not; 0: only what is below the cut."""
    epoch: int = 0


def wish(disk: Disk, wanted: Wish) -> None:
    """The next start cuts the log; for good, when this returns."""
    body = _WISH.pack(wanted.position, wanted.shared, wanted.epoch)
    own_file.replace(disk, PATH, MAGIC + _CRC.pack(crc32(body)) + body)


def wished(disk: Disk) -> Wish | None:
    """How the log is to be cut; None when it is not."""
    data = own_file.content(disk, PATH, 1 << 10)
    if data is None:
        return None
    body = data[8:]
    if data[:8] != MAGIC + _CRC.pack(crc32(body)) or len(body) != _WISH.size:
        raise StoreRefusedError(
            f"{PATH} is damaged: it tells where to cut the log of a member that is to follow"
            " another master; remove it, and the member finds out again"
        )
    return Wish(*_WISH.unpack(body))


@final
class LogCut:
    """One that was wished; the log's files are loaded, and nothing is looked at yet."""

    __slots__ = (
        "_disk",
        "_marks",
        "_reader",
        "_segments",
        "_tails_bytes_max",
        "_wish",
        "gone",
        "kept",
        "leaves_nothing",
    )

    def __init__(
        self,
        disk: Disk,
        segments: Segments,
        marks: MarksFile,
        reader: EntryReader,
        wanted: Wish,
        tails_bytes_max: int,
    ) -> None:
        """So many bytes of tails are kept, if this one is not longer."""
        self._disk = disk
        self._marks = marks
        self._reader = reader
        self._segments = segments
        self._tails_bytes_max = tails_bytes_max
        self._wish = wanted
        self.kept = ""
        """The path of what was cut."""
        self.gone: Sequence[KeptTail] = ()
        """The older ones that went for it."""
        self.leaves_nothing = False
        """Whether the log has no record any more."""

    def steps(self) -> Iterator[tuple[int, int]]:
        """How many bytes of the tail are safe, and of how many; then the log is cut. `end` comes
        next."""
        place = self._place(self._wish.position)
        self.leaves_nothing = place == LogMark(place.position)
        yield from self._keep_tail(max(place.position, self._place(self._wish.shared).position))
        UnsettledNote(self._disk).write()  # queues are longer than the log from here on
        marks = self._marks.marks
        if marks is None:
            self._marks.settle(VOID)
        else:
            below = place.position
            queues, index = min(marks.queues, below), min(marks.index, below)
            log = place if below < marks.log.position else marks.log
            self._marks.settle(replace(marks, log=log, queues=queues, index=index))
        self._segments.truncate(place.position)

    def end(self) -> None:
        """What was wished is done."""
        own_file.remove(self._disk, PATH)
        self._disk.sync_folder(OWN)

    def _place(self, position: int) -> LogMark:
        """Behind the last record that lies whole below the position."""
        segments = self._segments
        start = segments.start_of(max(segments.first, min(position, segments.past) - 1))
        while True:
            mark = LogMark(start)
            walk = LogWalk(segments, self._reader, mark)
            for entries in walk.chunks():
                for entry in entries:
                    end = entry.physical_offset + entry.size
                    if end > position:
                        break
                    mark = LogMark(end, entry.physical_offset, entry.store_timestamp_ms)
                if walk.position >= position:
                    break
            if mark.record_start or start == segments.first:
                return mark
            start -= segments.file_bytes

    def _keep_tail(self, start: int) -> Iterator[tuple[int, int]]:
        end = self._end(start)
        if end == start:
            return
        crc = 0
        for data in self._pieces(start, end):
            crc = crc32(data, crc)
        epoch = self._wish.epoch
        path = path_of(start, end, epoch, crc)
        self._disk.make_folder(OWN)
        self._disk.make_folder(TAILS)
        self.gone = make_room(self._disk, start, end, epoch, self._tails_bytes_max)
        file = self._disk.create(path + UNFINISHED)
        try:
            done = 0
            for data in self._pieces(start, end):
                file.write(done, [data])
                done += len(data)
                yield done, end - start
            file.sync()
        finally:
            file.close()
        self._disk.rename(path + UNFINISHED, path)
        self._disk.sync_folder(TAILS)
        self._disk.sync_folder(OWN)
        self.kept = path

    def _end(self, start: int) -> int:
        """Where the log ends: only where it was cut already that is the place itself."""
        walk = LogWalk(self._segments, self._reader, LogMark(start))
        for _ in walk.chunks():
            pass
        return walk.mark.position

    def _pieces(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            data = self._segments.read(start, min(CHUNK_BYTES, end - start))
            yield data
            start += len(data)
