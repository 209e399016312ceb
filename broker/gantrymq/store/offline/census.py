"""Counts the messages of a log by topic and queue: `gantry store stats`.

The whole log is read once; memory only grows with the number of queues.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.store.offline.file_row import FileRow
from gantrymq.store.offline.log_reader import LogReader
from gantrymq.store.progress import Progress, ProgressTask
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.wire import java_string

RECORDS_A_STEP: Final = 4096


@final
class Figures:
    """The figures of messages that are counted together."""

    __slots__ = ("bytes", "first_ms", "largest", "last_ms", "messages")

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0
        self.largest = 0
        self.first_ms = 0
        self.last_ms = 0

    def add(self, entry: DispatchEntry) -> None:
        size = int(entry.size)
        if not self.messages:
            self.first_ms = int(entry.store_timestamp_ms)
        self.messages += 1
        self.bytes += size
        self.largest = max(self.largest, size)
        self.last_ms = int(entry.store_timestamp_ms)

    @property
    def mean_bytes(self) -> int:
        return self.bytes // self.messages if self.messages else 0

    @property
    def per_second(self) -> float:
        """Messages a second between the first and the last one; 0 if they have the same time."""
        span_ms = self.last_ms - self.first_ms
        return self.messages * 1000 / span_ms if span_ms > 0 else 0.0


@final
class Census:
    """The figures of one log, filled by `run`."""

    __slots__ = ("_disk", "_row", "queues", "total")

    def __init__(self, disk: Disk, row: FileRow) -> None:
        self._disk = disk
        self._row = row
        self.total = Figures()
        self.queues: dict[tuple[str, int], Figures] = {}

    def run(self) -> ProgressTask[None]:
        reader = LogReader(self._disk, self._row)
        for count, event in enumerate(reader.events()):
            if isinstance(event, DispatchEntry):
                self._count(event)
            if count % RECORDS_A_STEP == 0:
                size = self._row.past - self._row.first
                yield Progress("log", reader.position - self._row.first, size)
        reader.close()

    def topics(self) -> dict[str, Figures]:
        """The figures of the queues, summed up by topic."""
        topics: dict[str, Figures] = {}
        for (topic, _), queue in self.queues.items():
            figures = topics.setdefault(topic, Figures())
            begin = min(figures.first_ms, queue.first_ms) if figures.messages else queue.first_ms
            figures.first_ms = begin
            figures.last_ms = max(figures.last_ms, queue.last_ms)
            figures.largest = max(figures.largest, queue.largest)
            figures.messages += queue.messages
            figures.bytes += queue.bytes
        return topics

    def _count(self, entry: DispatchEntry) -> None:
        key = (java_string.utf8_text(entry.topic), int(entry.queue_id))
        figures = self.queues.get(key)
        if figures is None:
            figures = self.queues[key] = Figures()
        figures.add(entry)
        self.total.add(entry)
