"""Selects records of a log: `gantry store dump`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from gantrymq.base.disk import Disk
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.offline.expectation import keys_of
from gantrymq.store.offline.file_row import FileRow
from gantrymq.store.offline.log_reader import Break, LogReader
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.wire.message.record import Record


@final
@dataclass(frozen=True, slots=True)
class RecordChoice:
    """A selection: positions from `first` to `past`, exclusive, and properties; None: any."""

    first: int = 0
    past: int = POSITION_MAX
    topic: bytes | None = None
    queue_id: int | None = None
    key: bytes | None = None
    limit: int | None = None

    def wants(self, entry: DispatchEntry) -> bool:
        return (
            (self.topic is None or entry.topic == self.topic)
            and (self.queue_id is None or entry.queue_id == self.queue_id)
            and (self.key is None or self.key in keys_of(entry))
        )


def chosen(disk: Disk, row: FileRow, choice: RecordChoice) -> Iterator[Record | Break]:
    """The selected records, and the breaks on the way."""
    reader = LogReader(disk, row)
    count = 0
    try:
        for event in reader.events(choice.first):
            position = event.position if isinstance(event, Break) else event.physical_offset
            if position >= choice.past or count == choice.limit:
                return
            if isinstance(event, Break):
                yield event
            elif choice.wants(event):
                count += 1
                yield reader.record(event)
    finally:
        reader.close()
