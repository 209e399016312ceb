"""Determines from a store's files with which sizes it was written, for offline tools.

    mappedFileSizeCommitLog       the length of the log's files, or what the marks say
    mappedFileSizeConsumeQueue    the same for the queues' files
    maxHashSlotNum, maxIndexNum   an index file is 40 + 4 * slots + 20 * entries bytes long

The last line is one equation for two numbers. A pair is right if the first and the last entry, at
the places that it gives, are those that the header names, and the slot of the last one names it.
The pairs tried are the user's or else the default, and every pair that puts the last entry's log
position at a place where the file has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk, DiskError, DiskFailure, Entry, File
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.files.flush_positions import PATH as MARKS_PATH
from gantrymq.store.files.flush_positions import SLOT_BYTES as MARK_BYTES
from gantrymq.store.files.flush_positions import SLOT_POSITIONS, Slot, decode_slot
from gantrymq.store.index.index_file import (
    ENTRY,
    ENTRY_BYTES,
    HEADER,
    HEADER_BYTES,
    SLOT_BYTES,
    IndexSizes,
)
from gantrymq.store.layout import COMMIT_LOG, CONSUME_QUEUE, INDEX
from gantrymq.store.offline.file_row import usual_size
from gantrymq.store.offline.finding import Findings, Kind
from gantrymq.store.settings import StoreSettings

LOG_KEY: Final = "mappedFileSizeCommitLog"
QUEUE_KEY: Final = "mappedFileSizeConsumeQueue"
SLOTS_KEY: Final = "maxHashSlotNum"
ENTRIES_KEY: Final = "maxIndexNum"
KEYS: Final = (LOG_KEY, QUEUE_KEY, SLOTS_KEY, ENTRIES_KEY)

READ_BYTES: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class StoreSizes:
    """The sizes, and for each a text that says where it came from."""

    log_bytes: int
    queue_bytes: int
    index: IndexSizes
    reasons: tuple[str, ...] = ()

    def settings(self) -> dict[str, int]:
        """The sizes by RocketMQ's keys."""
        numbers = (self.log_bytes, self.queue_bytes, self.index.slots, self.index.entries)
        return dict(zip(KEYS, numbers, strict=True))


def detect(disk: Disk, said: Mapping[str, int], findings: Findings) -> StoreSizes:
    """Determine the sizes. `said` has those that a user or a broker.conf gave, by key."""
    defaults = StoreSettings()
    slot = newest_slot(disk)
    log = _row_size(
        LOG_KEY,
        said,
        (slot.file_bytes if slot else 0) or usual_size(disk.list(COMMIT_LOG)),
        defaults.mapped_file_size_commit_log,
        findings,
    )
    queue = _row_size(
        QUEUE_KEY,
        said,
        (slot.queue_file_bytes if slot else 0) or _queue_file_bytes(disk),
        defaults.mapped_file_size_consume_queue,
        findings,
    )
    index = _index_sizes(disk, said, findings)
    return StoreSizes(
        log[0], -(-queue[0] // UNIT_BYTES) * UNIT_BYTES, index[0], (log[1], queue[1], index[1])
    )


def newest_slot(disk: Disk) -> Slot | None:
    """The newest slot of our own marks; None if there is none."""
    try:
        file = disk.open(MARKS_PATH)
    except DiskError as error:
        if error.failure is not DiskFailure.NOT_FOUND:
            raise
        return None
    found = [decode_slot(file.read(position, MARK_BYTES)) for position in SLOT_POSITIONS]
    file.close()
    return max(filter(None, found), key=lambda slot: slot.sequence, default=None)


def queue_folders(disk: Disk) -> Iterator[tuple[str, str]]:
    """(topic, queue id) of every folder of a queue, by their names."""
    for topic in disk.list(CONSUME_QUEUE):
        if topic.is_folder:
            for queue in disk.list(f"{CONSUME_QUEUE}/{topic.name}"):
                if queue.is_folder:
                    yield topic.name, queue.name


def _row_size(
    key: str, said: Mapping[str, int], seen: int, default: int, findings: Findings
) -> tuple[int, str]:
    if key not in said:
        return (
            (seen, f"{key}={seen}: from its files")
            if seen
            else (default, f"{key}={default}: by default")
        )
    if seen and seen != said[key]:
        text = f"{key}={said[key]} was given, but the files have {seen} bytes; {seen} is used"
        findings.error(Kind.SIZES, key, text)
        return seen, text
    return said[key], f"{key}={said[key]}: as given"


def _queue_file_bytes(disk: Disk) -> int:
    counts: Counter[int] = Counter()
    for topic, queue in queue_folders(disk):
        counts[usual_size(disk.list(f"{CONSUME_QUEUE}/{topic}/{queue}"))] += 1
    counts.pop(0, None)
    return max(counts, key=lambda size: (counts[size], size), default=0)


# ---------------------------------------------------------------------- index


def _index_sizes(disk: Disk, said: Mapping[str, int], findings: Findings) -> tuple[IndexSizes, str]:
    defaults = StoreSettings()
    wanted = IndexSizes(
        said.get(SLOTS_KEY, defaults.max_hash_slot_num),
        said.get(ENTRIES_KEY, defaults.max_index_num),
    )
    files = [each for each in disk.list(INDEX) if not each.is_folder and each.name.isdigit()]
    if not files:
        return wanted, f"{_text(wanted)}: no index file is there"
    for entry in files:
        found = _solve(disk, entry, wanted)
        if found is not None:
            return found, f"{_text(found)}: from the entries of {entry.name}"
    if any(each.size == wanted.file_bytes for each in files):
        return wanted, f"{_text(wanted)}: assumed, because no index file has entries"
    size = usual_index_size(files)
    text = f"no {SLOTS_KEY} and {ENTRIES_KEY} are found that make a file of {size} bytes"
    findings.error(Kind.SIZES, INDEX, f"{text}; it is not checked")
    return wanted, text


def usual_index_size(files: list[Entry]) -> int:
    counts = Counter(each.size for each in files)
    return max(counts, key=lambda size: (counts[size], size), default=0)


def _text(sizes: IndexSizes) -> str:
    return f"{SLOTS_KEY}={sizes.slots}, {ENTRIES_KEY}={sizes.entries}"


def _solve(disk: Disk, entry: Entry, wanted: IndexSizes) -> IndexSizes | None:
    """The sizes by which the entries of this file lie where its header says; None if unknown."""
    file = disk.open(f"{INDEX}/{entry.name}")
    try:
        head = file.read(0, HEADER_BYTES)
        if len(head) < HEADER_BYTES:
            return None
        _, _, begin, end, _, count = HEADER.unpack(head)
        if count < 2:
            return None
        pairs = _pairs(file, entry.size, end, count)
        for sizes in (wanted, *pairs) if wanted.file_bytes == entry.size else pairs:
            if _is_right(file, sizes, begin, end, count):
                return sizes
    finally:
        file.close()
    return None


def _pairs(file: File, size: int, end_offset: int, count: int) -> Iterator[IndexSizes]:
    """The sizes that put the last entry where the file has the log position it must have."""
    wanted = end_offset.to_bytes(8, "big", signed=True)
    before = HEADER_BYTES + ENTRY_BYTES * (count - 1) + 4
    start = before
    while data := file.read(start, READ_BYTES + len(wanted)):
        at = data.find(wanted)
        while at >= 0:
            slots, odd = divmod(start + at - before, SLOT_BYTES)
            entries, rest = divmod(size - HEADER_BYTES - SLOT_BYTES * slots, ENTRY_BYTES)
            if slots > 0 and not odd and not rest and entries >= count:
                yield IndexSizes(slots, entries)
            at = data.find(wanted, at + 1)
        start += READ_BYTES


def _is_right(file: File, sizes: IndexSizes, begin: int, end: int, count: int) -> bool:
    """Whether the first and last entry are the header's, and the last one is in its slot."""
    data = file.read(sizes.entry_position(1), ENTRY_BYTES)
    last = file.read(sizes.entry_position(count - 1), ENTRY_BYTES)
    if len(last) != ENTRY_BYTES:
        return False
    _, first_offset, _, first_previous = ENTRY.unpack(data)
    key_hash, last_offset, _, _ = ENTRY.unpack(last)
    slot = file.read(sizes.slot_position(key_hash % sizes.slots), SLOT_BYTES)
    is_in_slot = key_hash >= 0 and count - 1 <= int.from_bytes(slot, "big") <= sizes.entries
    return is_in_slot and (first_offset, first_previous, last_offset) == (begin, 0, end)
