"""Tests the faulty disk: what a power cut may lose, and which calls fail on request."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.testing.faulty_disk import Faults, FaultyDisk, PowerCut
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all

BEFORE, AFTER = b"-" * 3000, b"+" * 3000
SEEDS = range(300)


def synced(choose: Chooser, content: bytes = BEFORE) -> FaultyDisk:
    """One file, `a`, that is synced."""
    disk = FaultyDisk(choose)
    file = disk.create("a")
    file.write(0, [content])
    file.sync()
    disk.sync_folder("")
    return disk


def content(disk: FaultyDisk, path: str = "a") -> bytes:
    file = disk.open(path)
    return file.read(0, file.size())


def names(disk: FaultyDisk, folder: str = "") -> list[str]:
    return [entry.name for entry in disk.list(folder)]


def outcomes(history: Callable[[FaultyDisk], object]) -> set[bytes]:
    """The contents of the synced file after a power cut during `history`, over many seeds."""
    left = set()
    for seed in SEEDS:
        disk = synced(random.Random(seed).randrange)
        history(disk)
        left.add(content(disk.crash()))
    return left


@given(st.data())
def test_synced_data_survives(data: st.DataObject) -> None:
    def choose(count: int) -> int:
        return data.draw(st.integers(0, count - 1))

    disk = synced(choose, AFTER).crash()
    assert names(disk) == ["a"]
    assert content(disk) == AFTER


def test_unsynced_data_may_be_lost_or_kept() -> None:
    for choose, expected in [(lose_all, BEFORE), (keep_all, AFTER)]:
        disk = synced(choose)
        disk.open("a").write(0, [AFTER])
        assert content(disk.crash()) == expected


def test_an_unsynced_write_is_torn_anywhere() -> None:
    left = outcomes(lambda disk: disk.open("a").write(0, [AFTER]))
    assert {BEFORE, AFTER} < left
    assert all(len(bytes_left) == len(BEFORE) for bytes_left in left)
    cuts = {bytes_left.rfind(b"+") + 1 for bytes_left in left if bytes_left.startswith(b"+")}
    assert any(cut % 512 for cut in cuts), "torn within a sector"
    assert any(b"+-" in some and b"-+" in some for some in left), "sectors out of order"


def test_a_size_may_arrive_without_its_bytes_or_revert() -> None:
    left = outcomes(lambda disk: disk.open("a").write(3000, [AFTER]))
    assert BEFORE in left
    assert BEFORE + bytes(3000) in left
    assert BEFORE + AFTER in left


def test_a_cut_file_may_be_long_again() -> None:
    assert outcomes(lambda disk: disk.open("a").resize(10)) == {BEFORE, BEFORE[:10]}


def test_a_later_write_may_survive_an_earlier_one() -> None:
    def history(disk: FaultyDisk) -> None:
        file = disk.open("a")
        file.write(0, [b"first"])
        file.write(1000, [b"second"])

    left = outcomes(history)
    assert any(b"second" in some and b"f" not in some for some in left)
    assert any(b"first" in some and b"s" not in some.replace(b"first", b"") for some in left)


def test_sync_covers_earlier_writes_only() -> None:
    disk = synced(lose_all)
    background = MemoryBackground(disk)
    file = disk.open("a")
    file.write(0, [b"covered"])
    background.sync(file)
    file.write(10, [b"not covered"])
    background.complete_all()
    assert content(disk.crash()) == b"covered" + BEFORE[7:]


def test_a_sync_that_never_ends_covers_nothing() -> None:
    disk = synced(lose_all)
    file = disk.open("a")
    file.write(0, [AFTER])
    MemoryBackground(disk).sync(file)
    assert content(disk.crash()) == BEFORE


def test_names_need_their_folder_synced() -> None:
    disk = FaultyDisk(lose_all)
    disk.make_folder("folder")
    disk.create("folder/a").sync()
    disk.sync_folder("folder")
    assert names(disk.crash()) == [], "the folder's own name was not synced"


def test_removed_name_may_return_with_its_content() -> None:
    disk = synced(lose_all)
    disk.remove("a")
    assert content(disk.crash()) == BEFORE
    disk = synced(lose_all)
    disk.remove("a")
    disk.sync_folder("")
    assert names(disk.crash()) == []


def test_rename_is_atomic() -> None:
    for seed in SEEDS:
        disk = synced(random.Random(seed).randrange)
        new = disk.create("new")
        new.write(0, [AFTER])
        new.sync()
        disk.rename("new", "a")
        disk = disk.crash()
        assert (content(disk), "new" in names(disk)) in {
            (BEFORE, False),
            (BEFORE, True),
            (AFTER, False),
        }


def test_every_operation_can_be_the_last() -> None:
    def history(disk: FaultyDisk) -> None:
        file = disk.create("a")
        file.write(0, [b"x"])
        file.sync()
        disk.sync_folder("")
        disk.rename("a", "b")

    whole = FaultyDisk()
    history(whole)
    assert whole.operations == 5
    for last in range(1, 6):
        disk = FaultyDisk(lose_all)
        disk.crash_at = last
        with pytest.raises(PowerCut):
            history(disk)
        with pytest.raises(PowerCut):
            disk.list("")
        assert names(disk.crash()) == (["a"] if last > 4 else [])


def test_old_handles_are_dead_after_a_crash() -> None:
    disk = synced(keep_all)
    file = disk.open("a")
    survivor = disk.crash()
    for call in (file.size, file.sync, lambda: file.write(0, [b"x"]), lambda: file.read(0, 1)):
        with pytest.raises(PowerCut):
            call()
    assert content(survivor) == BEFORE


def test_after_a_power_cut_nothing_is_cached_or_locked() -> None:
    disk = synced(keep_all)
    disk.lock("lock")
    disk = disk.crash()
    file = disk.open("a")
    assert file.read_cached(0, 1) is None
    assert file.read(0, 1) == b"-"
    assert file.read_cached(0, 1) == b"-"
    disk.lock("lock")


def test_killed_process_loses_nothing_before_a_power_cut() -> None:
    disk = synced(lose_all)
    disk.open("a").write(0, [AFTER])
    disk.lock("lock")
    disk = disk.kill()
    disk.lock("lock")
    assert content(disk) == AFTER
    assert content(disk.crash()) == BEFORE


def test_failed_sync_may_lose_data_although_a_later_sync_succeeds() -> None:
    disk = synced(keep_all)
    file = disk.open("a")
    file.write(0, [AFTER])
    disk.fail("sync")
    with pytest.raises(DiskError) as caught:
        file.sync()
    assert caught.value.failure is DiskFailure.BROKEN
    file.sync()
    assert content(disk) == AFTER
    assert content(disk.crash()) == BEFORE


def test_faults_on_request_name_operation_path_and_count() -> None:
    disk = synced(keep_all)
    file = disk.open("a")
    disk.fail("read", path="b")
    disk.fail("read", path="a", times=2)
    for _ in range(2):
        with pytest.raises(DiskError, match="read a"):
            file.read(0, 1)
    assert file.read(0, 1) == b"-"


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("write", lambda disk: disk.open("a").write(0, [b"x"])),
        ("allocate", lambda disk: disk.open("a").allocate(0, 9000)),
        ("create", lambda disk: disk.create("b")),
        ("make_folder", lambda disk: disk.make_folder("b")),
        ("rename", lambda disk: disk.rename("a", "b")),
    ],
)
def test_a_disk_is_full_at_any_call(operation: str, call: Callable[[FaultyDisk], object]) -> None:
    disk = synced(keep_all)
    disk.fail(operation, DiskFailure.NO_SPACE)
    with pytest.raises(DiskError) as caught:
        call(disk)
    assert caught.value.failure is DiskFailure.NO_SPACE
    assert (names(disk), content(disk)) == (["a"], BEFORE)


def test_a_refused_write_may_have_written_a_part() -> None:
    disk = synced(lambda count: count // 2)
    disk.fail("write", DiskFailure.NO_SPACE)
    with pytest.raises(DiskError):
        disk.open("a").write(0, [b"1234"])
    assert content(disk)[:5] == b"12---"


def test_a_flipped_bit_stays() -> None:
    disk = synced(keep_all)
    disk.flip_bit("a", 7, bit=1)
    assert content(disk)[7] == ord("-") ^ 2
    assert content(disk.crash())[7] == ord("-") ^ 2


def test_a_bit_flipped_in_unsynced_bytes_is_synced_wrong() -> None:
    disk = synced(keep_all)
    file = disk.open("a")
    file.write(0, [b"x"])
    disk.flip_bit("a", 0)
    file.sync()
    assert content(disk.crash())[:1] == b"y"


def test_unsynced_bytes_may_survive_with_a_wrong_bit() -> None:
    answers = iter([0, 0, 999, 5, 1])  # keep all; the write survives, damaged: byte 5, bit 1
    disk = synced(keep_all)
    disk.open("a").write(0, [AFTER])
    disk.choose = lambda count: min(next(answers, 0), count - 1)
    disk.faults = Faults(flipped_bit=1000)
    survived = content(disk.crash())
    assert sum((a ^ b).bit_count() for a, b in zip(survived, AFTER, strict=True)) == 1


@pytest.mark.parametrize(
    ("faults", "call"),
    [
        (Faults(no_space=1000), lambda disk: disk.create("b")),
        (Faults(write_error=1000), lambda disk: disk.remove("a")),
        (Faults(read_error=1000), lambda disk: disk.open("a")),
        (Faults(sync_error=1000), lambda disk: disk.sync_folder("")),
    ],
)
def test_faults_by_chance(faults: Faults, call: Callable[[FaultyDisk], object]) -> None:
    disk = synced(lambda count: count - 1)
    disk.faults = faults
    with pytest.raises(DiskError):
        call(disk)


def test_space_survives_as_far_as_it_was_synced() -> None:
    disk = synced(lose_all)
    file = disk.open("a")
    free = disk.usage("").free_bytes
    file.allocate(0, 1 << 20)
    assert disk.usage("").free_bytes < free
    assert disk.crash().usage("").free_bytes == free
    disk = synced(lose_all)
    file = disk.open("a")
    file.allocate(0, 1 << 20)
    file.sync()
    disk = disk.crash()
    disk.memory.total_bytes = 0
    disk.open("a").write(1 << 19, [bytes(1 << 19)])


def test_the_same_seed_gives_the_same_disk() -> None:
    def left(seed: int) -> bytes:
        disk = synced(random.Random(seed).randrange)
        for number in range(20):
            disk.open("a").write(number * 700, [AFTER])
        return content(disk.crash())

    assert [left(seed) for seed in range(20)] == [left(seed) for seed in range(20)]
    assert len({left(seed) for seed in range(20)}) > 5
