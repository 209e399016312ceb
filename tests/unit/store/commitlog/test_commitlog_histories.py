"""Tests histories of groups, flushes, refusals and a crash: flushed bytes survive."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.commitlog.flush import Flusher
from gantrymq.store.files.flush_positions import FlushPositions, FlushPositionsFile, LogPosition
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.record.walk import Found, walk
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.testing.faulty_disk import Faults, FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.wire.message.record import Record

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
FILE_BYTES = 4096
SETTINGS = StoreSettings(
    mapped_file_size_commit_log=FILE_BYTES, flush_disk_type=FlushDiskType.SYNC_FLUSH
)

GROUPS = st.lists(st.integers(92, 2500), min_size=1, max_size=5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), GROUPS),
        st.tuples(st.sampled_from(["flush", "complete", "some"]), st.just([0])),
    ),
    max_size=25,
)


@dataclass
class History:
    """A log with what it accepted, what it refused, and what it flushed."""

    disk: FaultyDisk
    accepted: list[Record] = field(default_factory=list)
    refused: dict[bytes, int] = field(default_factory=dict)
    released: int = 0
    end: int = 0
    count: int = 0

    def run(self, steps: list[tuple[str, list[int]]], faults: Faults) -> None:
        self.background = MemoryBackground(self.disk)
        self.log = CommitLog(self.disk, self.background, SETTINGS, tail_bytes=3000)
        self.log.load()
        self.log.resume(LogPosition())
        self.flusher = Flusher(self.log, SETTINGS, now=0.0)
        self.flush_positions = FlushPositionsFile(self.disk, self.background, FILE_BYTES, 0)
        self.disk.faults = faults
        for now, (kind, sizes) in enumerate(steps):
            getattr(self, kind)(sizes, float(now))
            self.flusher.turn(float(now))

    def append(self, sizes: list[int], now: float) -> None:
        arena = self.log.start_group(int(now))
        messages = [self.message(size) for size in sizes]
        for message in messages:
            arena.add(message)
        self.refused |= {message.body: len(self.accepted) for message in messages}
        if self.log.write(arena, now) is None:
            self.accepted += messages
            self.end = self.log.end
            self.flusher.wait(len(self.accepted), self.end, now)

    def message(self, size: int) -> Record:
        self.count += 1
        body = b"%07d " % self.count * (size // 8)
        properties = b"K\x01" + body[: size // 3] + b"\x02"
        body = body[: max(1, size - 97 - size // 3)]
        return Record(b"Topic", body, properties=properties, born_host=HOST, store_host=HOST)

    def flush(self, sizes: list[int], now: float) -> None:
        self.flusher.start(now)

    def complete(self, sizes: list[int], now: float) -> None:
        self.background.complete_all()
        self.take(now)

    def some(self, sizes: list[int], now: float) -> None:
        self.background.complete_some(self.disk.choose)
        self.take(now)

    def take(self, now: float) -> None:
        for completion in self.background.take_completions():
            if self.flusher.take(completion):
                self.flush_positions.advance(
                    FlushPositions(self.flusher.flushed), now
                )  # a failure does no harm
            elif not self.flush_positions.take(completion):
                assert self.log.take(completion, now)
        for each in self.flusher.take_released():
            if each.in_time:
                self.released = each.waiter


def recovered(disk: FaultyDisk) -> tuple[list[Record], LogPosition | None]:
    """The records that a walk from the first file finds, and the flush position."""
    background = MemoryBackground(disk)
    log = CommitLog(disk, background, SETTINGS)
    log.load()
    positions = FlushPositionsFile(disk, background, FILE_BYTES, 0).latest
    mark = None if positions is None else positions.log
    flushed = mark.position if mark else 0
    records: list[Record] = []
    segments = log.segments
    for start in range(segments.first, segments.past, FILE_BYTES):
        items = list(walk(segments.read(start, FILE_BYTES), start, FILE_BYTES, flushed=flushed))
        records += [item.record for item in items if item.record is not None]
        if items[-1].found is not Found.BLANK:
            break
    return records, mark


@settings(max_examples=300)
@given(steps=STEPS, choices=st.data(), crash_at=st.integers(1, 80), faulty=st.booleans())
def test_flushed_messages_survive_any_crash(
    steps: list[tuple[str, list[int]]], choices: st.DataObject, crash_at: int, faulty: bool
) -> None:
    def choose(count: int) -> int:
        return choices.draw(st.integers(0, count - 1)) if count > 1 else 0

    disk = FaultyDisk(choose)
    history = History(disk)
    disk.crash_at = crash_at
    faults = Faults(no_space=50, write_error=50, sync_error=30) if faulty else Faults()
    with contextlib.suppress(PowerCut, SyncFailedError):
        history.run(steps, faults)
    disk.faults = Faults()
    found, mark = recovered(disk.crash())
    check(history, found, mark)


def check(history: History, found: list[Record], mark: LogPosition | None) -> None:
    accepted = history.accepted
    # Dense, equal, in order, and nothing that was acknowledged as flushed is missing.
    kept = found[: len(accepted)]
    extra = found[len(accepted) :]
    assert kept == accepted[: len(kept)]
    assert len(kept) >= history.released
    # The last group may be found although it was refused, but never behind a later accepted one.
    assert all(history.refused.get(record.body) == len(accepted) for record in extra)
    if mark is not None and mark.position:
        ends = {record.physical_offset + record.size: record for record in accepted}
        assert ends[mark.position].store_timestamp_ms == mark.store_timestamp_ms
        assert found
        assert found[-1].physical_offset + found[-1].size >= mark.position


@given(groups=st.lists(GROUPS, max_size=12), tail_bytes=st.sampled_from([0, 300, 1 << 20]))
def test_every_byte_is_read_back_at_its_position(groups: list[list[int]], tail_bytes: int) -> None:
    disk = FaultyDisk()
    history = History(disk)
    history.run([("append", sizes) for sizes in groups], Faults())
    end = 0
    for record in history.accepted:
        assert end % FILE_BYTES + record.size + 8 > FILE_BYTES or record.physical_offset == end
        data = history.log.read(record.physical_offset, record.size)
        assert data is not None
        (item,) = walk(data, record.physical_offset, FILE_BYTES)
        assert item.record == record
        end = record.physical_offset + record.size
    assert end == history.log.end
