"""Lists the consume queues of a store without reading the log: `gantry store dump --queues`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from gantrymq.base.disk import Disk
from gantrymq.store.consumequeue.queue_unit import UNIT, UNIT_BYTES, valid_count
from gantrymq.store.layout import CONSUME_QUEUE
from gantrymq.store.offline.file_row import FileRow, read_row
from gantrymq.store.offline.finding import Findings, Kind
from gantrymq.store.offline.store_sizes import queue_folders


@final
@dataclass(frozen=True, slots=True)
class QueueLine:
    """One queue: its units from `first` to before `past`, and where the last one points."""

    topic: str
    queue_id: str
    files: int
    first: int
    past: int
    last_position: int | None


def list_queues(disk: Disk, file_bytes: int) -> Iterator[QueueLine]:
    for topic, queue_id in queue_folders(disk):
        folder = f"{CONSUME_QUEUE}/{topic}/{queue_id}"
        row = read_row(disk, folder, file_bytes, Findings(), Kind.QUEUE_FILES)
        past, last = _end(disk, row)
        first = row.first // UNIT_BYTES
        yield QueueLine(topic, queue_id, len(row.files), first, past, last)


def _end(disk: Disk, row: FileRow) -> tuple[int, int | None]:
    """The end of the units, which have no gap, and the log position in the last one."""
    for each in reversed(row.files):
        file = disk.open(each.path)
        data = file.read(0, each.size)
        file.close()
        count = valid_count(data)
        if count:
            last = UNIT.unpack_from(data, (count - 1) * UNIT_BYTES)
            return each.start // UNIT_BYTES + count, last[0]
    return row.first // UNIT_BYTES, None
