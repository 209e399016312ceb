"""Tests the contract of the disk port on each of its implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from gantrymq.base.disk import Completion, Disk, DiskError, DiskFailure, Entry, File
from gantrymq.base.errors import LocalError
from gantrymq.fakes.stores.disk_processes import Process, faulty, in_memory, real
from gantrymq.powercut.mount import Mount


@pytest.fixture(scope="module")
def mount(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mount]:
    with Mount(tmp_path_factory.mktemp("mount")) as mount:
        yield mount


POWER_CUT = pytest.param("power-cut", marks=pytest.mark.power_cut)


@pytest.fixture(params=["memory", "faulty", "real", POWER_CUT])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Process]:
    if request.param == "real":
        yield from real(tmp_path / "store")
    elif request.param == "power-cut":  # the real disk on the tests' own file system
        mount: Mount = request.getfixturevalue("mount")
        yield from real(mount.root / tmp_path.name)
    else:
        yield from in_memory() if request.param == "memory" else faulty()


@pytest.fixture
def disk(process: Process) -> Disk:
    return process.disk


@pytest.fixture
def file(disk: Disk) -> Iterator[File]:
    file = disk.create("file")
    yield file
    file.close()


Refused: TypeAlias = Callable[[Disk], object]


def failure(disk: Disk, call: Refused) -> DiskFailure:
    with pytest.raises(DiskError) as caught:
        call(disk)
    assert caught.value.operation in str(caught.value)
    assert caught.value.path in str(caught.value)
    return caught.value.failure


def names(disk: Disk, folder: str) -> list[str]:
    return [entry.name for entry in disk.list(folder)]


def test_pieces_are_written_behind_each_other(file: File) -> None:
    file.write(3, [b"ab", b"", b"cde"])
    assert file.read(0, 100) == b"\0\0\0abcde"
    assert file.size() == 8


def test_write_of_more_pieces_than_one_system_call_accepts(file: File) -> None:
    pieces = [str(number).encode() for number in range(3000)]
    file.write(5, pieces)
    assert file.read(5, 100_000) == b"".join(pieces)


def test_nothing_written_changes_nothing(file: File) -> None:
    file.write(100, [b""])
    file.write(100, [])
    assert file.size() == 0


def test_a_write_over_the_middle_leaves_the_rest(file: File) -> None:
    file.write(0, [b"abcdef"])
    file.write(2, [b"XY"])
    assert file.read(0, 6) == b"abXYef"


def test_read_returns_the_content_of_the_file(file: File) -> None:
    file.write(0, [b"abcdef"])
    assert file.read(4, 10) == b"ef"
    assert file.read(6, 10) == b""
    assert file.read(100, 10) == b""
    assert file.read(2, 0) == b""


def test_two_handles_see_one_file(disk: Disk, file: File) -> None:
    other = disk.open("file")
    file.write(0, [b"abc"])
    assert other.read(0, 3) == b"abc"
    assert file.path == other.path == "file"
    other.close()


def test_resize_cuts_and_extends_with_zeros(file: File) -> None:
    file.write(0, [b"abcdef"])
    file.resize(3)
    assert (file.size(), file.read(0, 10)) == (3, b"abc")
    file.resize(5)
    assert (file.size(), file.read(0, 10)) == (5, b"abc\0\0")


def test_allocate_extends_with_zeros_and_keeps_what_is_there(file: File) -> None:
    file.write(0, [b"abc"])
    file.allocate(2, 9000)
    assert file.size() == 9002
    assert file.read(0, 10_000) == b"abc" + bytes(8999)
    file.allocate(0, 100)
    assert file.size() == 9002


def test_an_allocated_range_takes_space_once(disk: Disk, file: File) -> None:
    before = disk.usage("")
    file.allocate(0, 1 << 20)
    file.sync()
    after = disk.usage("")
    assert before.total_bytes == after.total_bytes
    assert 0 <= after.free_bytes <= after.total_bytes


def test_what_was_written_or_read_just_now_needs_no_device(file: File) -> None:
    file.write(0, [b"abcdef"])
    assert file.read_cached(1, 3) in {b"bcd", None}  # None: the file system cannot tell
    assert file.read_cached(4, 10) in {b"ef", None}
    assert file.read_cached(6, 10) in {b"", None}


def test_forgotten_bytes_can_be_read_again(file: File) -> None:
    file.write(0, [b"abc" * 10_000])
    file.sync()
    file.forget_cached(0, 30_000)
    assert file.read(29_997, 10) == b"abc"


def test_sync_of_a_file_and_its_folder(disk: Disk, file: File) -> None:
    file.write(0, [b"abc"])
    file.sync()
    disk.sync_folder("")
    assert file.read(0, 3) == b"abc"


@pytest.mark.parametrize(
    "call",
    [
        lambda file: file.write(-1, [b"x"]),
        lambda file: file.read(-1, 1),
        lambda file: file.read(0, -1),
        lambda file: file.read_cached(-1, 1),
        lambda file: file.allocate(-1, 1),
        lambda file: file.resize(-1),
        lambda file: file.forget_cached(-1, 1),
    ],
)
def test_no_range_begins_before_the_file(file: File, call: Callable[[File], object]) -> None:
    with pytest.raises(LocalError):
        call(file)


@pytest.mark.parametrize(
    "call",
    [
        lambda file: file.size(),
        lambda file: file.write(0, [b"x"]),
        lambda file: file.read(0, 1),
        lambda file: file.read_cached(0, 1),
        lambda file: file.allocate(0, 1),
        lambda file: file.resize(0),
        lambda file: file.sync(),
        lambda file: file.forget_cached(0, 1),
    ],
)
def test_a_closed_file_does_nothing(disk: Disk, call: Callable[[File], object]) -> None:
    file = disk.create("closed")
    file.close()
    file.close()
    with pytest.raises(LocalError):
        call(file)


def test_a_folder_lists_by_name_with_kind_and_size(disk: Disk) -> None:
    disk.make_folder("f/sub")
    for name, size in [("b", 2), ("a", 1), ("10", 0)]:
        file = disk.create(f"f/{name}")
        file.write(0, [bytes(size)])
        file.close()
    assert [replace(entry, modified_ms=0) for entry in disk.list("f")] == [
        Entry("10", is_folder=False, size=0, modified_ms=0),
        Entry("a", is_folder=False, size=1, modified_ms=0),
        Entry("b", is_folder=False, size=2, modified_ms=0),
        Entry("sub", is_folder=True, size=0, modified_ms=0),
    ]


def test_a_missing_folder_is_empty(disk: Disk) -> None:
    assert list(disk.list("nowhere/at/all")) == []


def test_making_a_folder_makes_its_parents_and_can_be_repeated(disk: Disk) -> None:
    disk.make_folder("a/b/c")
    disk.make_folder("a/b/c")
    disk.make_folder("")
    assert names(disk, "a/b") == ["c"]
    disk.sync_folder("a/b")


def test_rename_replaces(disk: Disk, file: File) -> None:
    disk.make_folder("folder")
    file.write(0, [b"new"])
    disk.create("folder/old").close()
    disk.rename("file", "folder/old")
    assert names(disk, "") == ["folder"]
    replaced = disk.open("folder/old")
    assert replaced.read(0, 10) == b"new"
    replaced.close()
    disk.rename("folder/old", "folder/old")
    assert names(disk, "folder") == ["old"]


def test_a_folder_is_renamed_with_all_it_has(disk: Disk) -> None:
    disk.make_folder("a/b")
    disk.create("a/b/c").close()
    disk.rename("a", "z")
    assert names(disk, "z/b") == ["c"]


def test_remove_takes_files_and_empty_folders(disk: Disk) -> None:
    disk.make_folder("a")
    disk.create("a/b").close()
    assert failure(disk, lambda disk: disk.remove("a")) is DiskFailure.EXISTS
    disk.remove("a/b")
    disk.remove("a")
    assert names(disk, "") == []


def test_removed_file_is_readable_by_open_handles(disk: Disk, file: File) -> None:
    file.write(0, [b"abc"])
    disk.remove("file")
    assert file.read(0, 3) == b"abc"
    assert names(disk, "") == []


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda disk: disk.open("nothing"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.open("folder"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.open("there/below"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.create("there"), DiskFailure.EXISTS),
        (lambda disk: disk.create("folder"), DiskFailure.EXISTS),
        (lambda disk: disk.create("nowhere/file"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.make_folder("there"), DiskFailure.EXISTS),
        (lambda disk: disk.rename("nothing", "new"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.rename("there", "nowhere/new"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.rename("there", "folder"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.rename("folder", "there"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.remove("nothing"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.sync_folder("nothing"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.sync_folder("there"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.usage("nothing"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.lock("folder"), DiskFailure.NOT_FOUND),
        (lambda disk: disk.lock("nowhere/lock"), DiskFailure.NOT_FOUND),
    ],
)
def test_refused_operations_and_their_failures(
    disk: Disk, call: Refused, expected: DiskFailure
) -> None:
    disk.create("there").close()
    disk.make_folder("folder")
    assert failure(disk, call) is expected
    assert names(disk, "") == ["folder", "there"]


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/etc", "a//b", "a/", ".", "a\0"])
def test_path_cannot_leave_the_root(disk: Disk, path: str) -> None:
    calls: list[Refused] = [
        lambda disk: disk.open(path),
        lambda disk: disk.create(path),
        lambda disk: disk.list(path),
        lambda disk: disk.make_folder(path),
        lambda disk: disk.rename("file", path),
        lambda disk: disk.remove(path),
        lambda disk: disk.sync_folder(path),
        lambda disk: disk.usage(path),
        lambda disk: disk.lock(path),
    ]
    disk.create("file").close()
    for call in calls:
        with pytest.raises(LocalError):
            call(disk)


@pytest.mark.parametrize("call", [lambda d: d.open(""), lambda d: d.remove("")])
def test_the_root_is_no_file(disk: Disk, call: Refused) -> None:
    with pytest.raises(LocalError):
        call(disk)


def test_lock_excludes_other_processes(process: Process) -> None:
    process.disk.lock("lock")
    assert names(process.disk, "") == ["lock"]
    assert failure(process.another(), lambda disk: disk.lock("lock")) is DiskFailure.LOCKED
    process.disk.open("lock").close()  # closing another handle does not give it back
    assert failure(process.another(), lambda disk: disk.lock("lock")) is DiskFailure.LOCKED


def test_completions_have_the_outcome_of_their_tickets(process: Process) -> None:
    background = process.start_background()
    process.disk.make_folder("f")
    file = process.disk.create("f/file")
    file.write(0, [b"abcdef"])
    tickets = [
        background.sync(file),
        background.read(file, 2, 3),
        background.allocate(file, 0, 9000),
    ]
    ended = {completion.ticket: completion for completion in process.complete(3)}
    assert [ended[ticket].error for ticket in tickets] == [None, None, None]
    assert [ended[ticket].data for ticket in tickets] == [b"", b"cde", b""]
    assert file.size() == 9000
    file.close()
    removal = background.remove("f/file")
    assert process.complete(1) == [Completion(removal)]
    assert names(process.disk, "f") == []
    assert len({*tickets, removal}) == 4
    assert min(tickets) > 0


def test_failed_job_has_an_error(process: Process) -> None:
    ticket = process.start_background().remove("nothing")
    (completion,) = process.complete(1)
    assert completion.ticket == ticket
    assert completion.error is not None
    assert completion.error.failure is DiskFailure.NOT_FOUND


def test_a_job_outlives_the_close_of_its_file(process: Process) -> None:
    background = process.start_background()
    file = process.disk.create("file")
    file.write(0, [b"abc"])
    background.sync(file)
    background.read(file, 0, 3)
    file.close()
    ended = process.complete(2)
    assert [completion.error for completion in ended] == [None, None]
    assert {completion.data for completion in ended} == {b"", b"abc"}


def test_no_completions_without_ended_jobs(process: Process) -> None:
    assert list(process.start_background().take_completions()) == []
