"""Records which queues of a copy began anew, so that the old ones can be restored after a crash.

On a copy a queue may begin anew with a message that does not continue it (dispatch.py), and the
files of the old queue are removed.

    gantry/replaced   "GFR1" | notes, one behind the other
    note              crc32 of the rest 4 | bytes of the topic's name 2 | queue id 4 | position of
                      that message 8 | the name, UTF-8

That message may be lost again: in a power cut, or in a truncation by a new epoch. Then the old
queue must be rebuilt from the log. Therefore each note is synced before the old files are removed,
and the next start looks for notes of messages that the log does not have.

Invariants. The last note of a queue counts. The number of notes is bounded: the oldest are dropped
first, because their messages are the least likely to be lost. If a note cannot be read, because it
is unfinished or damaged, it is unknown which notes are missing (`is_whole`): the next start by our
flush positions then checks all queues from the log's start on, whatever the stop was. Until then
the unreadable bytes stay.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, final

from isal.isal_zlib import crc32

from gantrymq.base.disk import Disk, DiskError, DiskFailure
from gantrymq.store.consumequeue.queue_folder import FOLDER_NAME_BYTES_MAX
from gantrymq.store.files import atomic_file, reserve
from gantrymq.store.layout import OWN

PATH: Final = f"{OWN}/replaced"
MAGIC: Final = b"GFR1"

# At most 27 MB, with the longest names. They are read at a start, and rewritten when they are full.
NOTES_MAX: Final = 100_000

_CRC: Final = struct.Struct(">I")
_NOTE: Final = struct.Struct(">HIq")
_NOTE_BYTES_MAX: Final = _CRC.size + _NOTE.size + FOLDER_NAME_BYTES_MAX
_FILE_BYTES_MAX: Final = len(MAGIC) + _NOTE_BYTES_MAX * (NOTES_MAX + 1)


@final
class ReplacedQueues:
    """The notes of one store."""

    __slots__ = ("_count", "_disk", "_end", "_positions", "is_whole")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._count = 0  # the number of notes in the file, which ends at `_end`
        self._end = 0
        self._positions: dict[tuple[str, int], int] = {}
        self.is_whole = True
        """Whether all notes of the previous process were read."""

    def load(self) -> None:
        """Read the notes of the previous process."""
        data = atomic_file.content(self._disk, PATH, _FILE_BYTES_MAX)
        if data is None:
            return
        at = len(MAGIC)
        if data[:at] == MAGIC:
            while note := _note_at(data, at):
                topic, queue_id, position, at = note
                self._keep(topic, queue_id, position)
                self._count += 1
        self.is_whole = at == len(data)
        self._end = len(data)  # notes added behind stay unread too, until `settle`

    def note(self, topic: str, queue_id: int, position: int) -> None:
        """Note that the queue begins anew with the message at this position. Synced at the
        return."""
        self._keep(topic, queue_id, position)
        if self.is_whole and (self._end == 0 or self._count >= NOTES_MAX):
            self._write(self._positions)
            return
        data = _encode(topic, queue_id, position)
        file = self._disk.open(PATH)
        try:
            file.write(self._end, [data])
            file.sync()
        finally:
            file.close()
        self._end += len(data)
        self._count += 1

    def behind(self, log_end: int) -> set[tuple[str, int]]:
        """Topic and id of the queues that began anew with a message which the log does not have."""
        return {place for place, position in self._positions.items() if position >= log_end}

    def settle(self, log_start: int, log_end: int, found: Mapping[tuple[str, int], int]) -> None:
        """Drop the notes of messages that the log does not have, after the queues were rebuilt.
        `found` has the queues that the log itself shows to have begun anew, with the positions.

        If the disk is full, the reserve is given up for the file; if that is not enough, the next
        note writes all of them.
        """
        known = {**self._positions, **found}
        kept = {place: at for place, at in known.items() if log_start <= at < log_end}
        if kept == self._positions and self.is_whole:
            return
        self._positions, self._end, self.is_whole = kept, 0, True
        if not self._has_written(kept) and reserve.free(self._disk):
            self._has_written(kept)

    def _has_written(self, positions: Mapping[tuple[str, int], int]) -> bool:
        """Whether there was space to write these notes."""
        try:
            self._write(positions)
        except DiskError as error:
            if error.failure is not DiskFailure.NO_SPACE:
                raise
            return False
        return True

    def _keep(self, topic: str, queue_id: int, position: int) -> None:
        self._positions.pop((topic, queue_id), None)  # the last ones go to the end
        self._positions[topic, queue_id] = position

    def _write(self, positions: Mapping[tuple[str, int], int]) -> None:
        """Replace the file by the last of these notes, at most half of NOTES_MAX."""
        notes = list(positions.items())[-(NOTES_MAX // 2) :]
        data = MAGIC + b"".join([_encode(*place, position) for place, position in notes])
        atomic_file.replace(self._disk, PATH, data)
        self._positions = dict(notes)
        self._count, self._end, self.is_whole = len(notes), len(data), True


def _encode(topic: str, queue_id: int, position: int) -> bytes:
    name = topic.encode("utf-8", "surrogatepass")
    body = _NOTE.pack(len(name), queue_id, position) + name
    return _CRC.pack(crc32(body)) + body


def _note_at(data: bytes, at: int) -> tuple[str, int, int, int] | None:
    """Topic, queue id, position and end of the note at `at`; None if there is no whole one."""
    body_at = at + _CRC.size
    name_at = body_at + _NOTE.size
    if name_at > len(data):
        return None
    name_bytes, queue_id, position = _NOTE.unpack_from(data, body_at)
    end = name_at + name_bytes
    if end > len(data) or crc32(data[body_at:end]) != _CRC.unpack_from(data, at)[0]:
        return None
    return data[name_at:end].decode("utf-8", "surrogatepass"), queue_id, position, end
