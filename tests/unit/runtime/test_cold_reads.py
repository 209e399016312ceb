"""Reading a cold backlog never blocks the loop: on the real disk, whose device is made slow.

A read of bytes that are not cached takes `DEVICE_SECONDS` here, in every thread. A clock that ticks
beside the reader tells how late the loop was: at most `ALLOWANCE` of such a read later than with
everything cached, in the same run. Whatever else keeps a busy machine only adds to that, so the
best of a few runs is compared, or of more where these were too busy to tell.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.fakes.stores.store import message
from gantrymq.runtime.storage.disk import FolderDisk, FolderFile
from gantrymq.runtime.storage.disk_background import DiskBackground
from gantrymq.store.engine import Store
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import Pulled, PullQuery
from gantrymq.store.settings import StoreSettings

DEVICE_SECONDS = 0.1
ALLOWANCE = 0.5
RUNS = 3
RUNS_MAX = 20
TICK_SECONDS = 0.001
TICKS_MIN = 50

TOPIC = "T"
BACKLOG = 128
BODY_BYTES = 4096
PULL = 32
MEMORY_BYTES = 1 << 40
SETTINGS = StoreSettings(
    mapped_file_size_commit_log=1 << 19, max_hash_slot_num=100, max_index_num=1000
)


@dataclass(frozen=True, slots=True)
class Lateness:
    """The lateness of the ticks of one run, in seconds."""

    p99: float
    longest: float


class Device:
    """Makes the first read of each cold range slow, and reports it as not cached.

    It does not ask the system whether the range is cached, since asking fetches it.
    """

    def __init__(self) -> None:
        self.is_cold = False
        self.slow_reads = 0
        self._brought: set[tuple[str, int]] = set()
        read, read_cached = FolderFile.read, FolderFile.read_cached

        def read_if_cached(file: FolderFile, position: int, size: int) -> bytes | None:
            return None if self._lacks(file, position) else read_cached(file, position, size)

        def read_slowly(file: FolderFile, position: int, size: int) -> bytes:
            if self._lacks(file, position):
                self._brought.add((file.path, position))
                self.slow_reads += 1
                time.sleep(DEVICE_SECONDS)
            return read(file, position, size)

        self.read = read_slowly
        self.read_cached = read_if_cached

    def turn(self, *, is_cold: bool) -> None:
        self.is_cold = is_cold
        self._brought.clear()

    def _lacks(self, file: FolderFile, position: int) -> bool:
        return self.is_cold and (file.path, position) not in self._brought


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    device = Device()
    monkeypatch.setattr(FolderFile, "read_cached", device.read_cached)
    monkeypatch.setattr(FolderFile, "read", device.read)
    return device


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store that was filled, closed, and synced."""
    with opened(tmp_path) as (store, _):
        for number in range(BACKLOG):
            one = message(number)
            one.body = bytes(BODY_BYTES)
            assert isinstance(store.put(one), int)
        store.turn(time.monotonic(), 1)
    return tmp_path


async def test_a_cold_backlog_is_read_without_blocking(folder: Path, device: Device) -> None:
    def does_not_block(cached: Lateness, cold: Lateness) -> bool:
        allowed = ALLOWANCE * DEVICE_SECONDS
        return cold.p99 <= cached.p99 + allowed and cold.longest <= cached.longest + allowed

    assert does_not_block(*await lateness_cached_and_cold(folder, device, does_not_block))
    assert device.slow_reads >= 2 * RUNS


async def test_a_disk_that_waits_for_its_device_is_noticed(
    folder: Path, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocks(cached: Lateness, cold: Lateness) -> bool:
        return cold.longest > cached.longest + ALLOWANCE * DEVICE_SECONDS

    monkeypatch.setattr(FolderFile, "read_cached", device.read)
    assert blocks(*await lateness_cached_and_cold(folder, device, blocks))


async def lateness_cached_and_cold(
    folder: Path, device: Device, is_as_expected: Callable[[Lateness, Lateness], bool]
) -> tuple[Lateness, Lateness]:
    """The best of several runs of each kind, in turns."""
    runs: dict[bool, list[Lateness]] = {False: [], True: []}
    for count in range(1, RUNS_MAX + 1):
        for is_cold, seen in runs.items():
            seen.append(await lateness_of_reading(folder, device, is_cold=is_cold))
        if count >= RUNS and is_as_expected(best(runs[False]), best(runs[True])):
            break
    return best(runs[False]), best(runs[True])


def best(runs: list[Lateness]) -> Lateness:
    return Lateness(min(run.p99 for run in runs), min(run.longest for run in runs))


async def lateness_of_reading(folder: Path, device: Device, *, is_cold: bool) -> Lateness:
    """The lateness of a clock that ticks while the whole backlog is pulled, repeated until it
    ticked enough."""
    late: list[float] = []
    device.turn(is_cold=False)
    with opened(folder) as (store, background):
        touch(folder, is_cold=is_cold)  # opening the store reads as well
        device.turn(is_cold=is_cold)
        clock = asyncio.create_task(tick(late))
        await asyncio.sleep(0)  # the first tick comes before the first read
        while len(late) < TICKS_MIN:
            await read_all(store, background)
        clock.cancel()
    late.sort()
    return Lateness(late[-1 - len(late) // 100], late[-1])


async def tick(late: list[float]) -> None:
    while True:
        due = time.perf_counter() + TICK_SECONDS
        await asyncio.sleep(TICK_SECONDS)
        late.append(time.perf_counter() - due)


async def read_all(store: Store, background: DiskBackground) -> None:
    """Pull the whole queue as a consumer does, with a turn whenever the disk is ready."""
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(background.fileno(), ready.set)
    offset = 0
    while offset < BACKLOG:
        query = PullQuery(TOPIC, 0, offset, PULL)
        store.reader.start(offset, pull(store, query, MEMORY_BYTES))
        while not (ended := store.turn(time.monotonic(), 1).finished_reads):
            ready.clear()
            await ready.wait()
        (one,) = ended
        assert isinstance(one.result, Pulled), one.error
        offset = one.result.next_offset
        await asyncio.sleep(0)
    loop.remove_reader(background.fileno())


def touch(folder: Path, *, is_cold: bool) -> None:
    """Bring the log and the queue into the page cache, or drop them from it."""
    for path in [*folder.glob("commitlog/*"), *folder.glob("consumequeue/*/*/*")]:
        with path.open("rb") as file:
            if is_cold:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            else:
                file.read()


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Store, DiskBackground]]:
    """The store in this folder, closed at the end as a broker closes it."""
    disk = FolderDisk(folder)
    with closing(disk), closing(DiskBackground(disk)) as background:
        store = Store(
            disk,
            background,
            SETTINGS,
            new_index_name=lambda: "20261121013426966",
            local_hour=lambda wall_ms: 0,
        )
        for _ in store.open(time.monotonic()):
            pass
        yield store, background
        store.close(time.monotonic(), 1)
