"""Tests limits, errors, locks and caches of the real disk, beyond the port's contract."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.errors import LocalError
from gantrymq.runtime.storage.disk import (
    ALLOCATE_STEP_BYTES,
    REMOVE_STEP_BYTES,
    SCRATCH_BYTES,
    FolderDisk,
)
from gantrymq.runtime.storage.disk_errors import disk_error

# What Java's FileChannel.lock(0, 1, false) does.
CLASSIC_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
try:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
except OSError:
    print("refused", flush=True)
else:
    print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FolderDisk]:
    disk = FolderDisk(tmp_path / "store")
    yield disk
    disk.close()


WRITE_BEYOND_THE_LIMIT = """
import resource, sys
from pathlib import Path
from gantrymq.base.disk import DiskError
from gantrymq.runtime.storage.disk import FolderDisk

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
file = FolderDisk(Path(sys.argv[1])).create("a")
try:
    file.write(0, [b"a" * 600, b"b" * 600])
except DiskError as error:
    print(error.failure.name, error, end="")
"""


def other_process(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CLASSIC_LOCK, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_the_root_is_made_and_owns_all_paths(tmp_path: Path) -> None:
    disk = FolderDisk(tmp_path / "some" / "store")
    disk.make_folder("commitlog")
    disk.create("commitlog/0").close()
    assert (tmp_path / "some/store/commitlog/0").exists()
    disk.close()


def test_a_root_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    with pytest.raises(DiskError, match="store"):
        FolderDisk(tmp_path / "store")


def test_a_link_to_another_place_is_followed(disk: FolderDisk, tmp_path: Path) -> None:
    (tmp_path / "fast").mkdir()
    (tmp_path / "store" / "commitlog").symlink_to(tmp_path / "fast")
    disk.make_folder("commitlog")
    disk.create("commitlog/0").close()
    assert (tmp_path / "fast/0").exists()
    (tmp_path / "store" / "dangling").symlink_to(tmp_path / "nowhere")
    assert [(entry.name, entry.is_folder) for entry in disk.list("")] == [("commitlog", True)]


def test_a_short_write_goes_on_until_the_system_refuses(tmp_path: Path) -> None:
    """In a process of its own, because the limit would also affect the log of this one."""
    done = subprocess.run(
        [sys.executable, "-c", WRITE_BEYOND_THE_LIMIT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    words = os.strerror(errno.EFBIG)
    assert done.stdout == f"{DiskFailure.BROKEN.name} write {tmp_path}/a: {words}"
    assert (tmp_path / "a").read_bytes() == b"a" * 600 + b"b" * 400


def test_short_writes_are_continued(disk: FolderDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite, os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda fd, pieces, at: real[0](fd, pieces[0][:3], at))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real[0](fd, data[:7], at))
    file = disk.create("a")
    file.write(5, [b"abcdefgh", b"0123456789", b"XYZ"])
    assert file.read(0, 100) == bytes(5) + b"abcdefgh0123456789XYZ"
    file.close()


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, DiskFailure.NO_SPACE),
        (errno.EDQUOT, DiskFailure.NO_SPACE),
        (errno.EIO, DiskFailure.BROKEN),
        (errno.EROFS, DiskFailure.BROKEN),
        (errno.EMFILE, DiskFailure.TOO_MANY_FILES),
        (errno.ENFILE, DiskFailure.TOO_MANY_FILES),
        (errno.ENOENT, DiskFailure.NOT_FOUND),
    ],
)
def test_error_text_has_the_systems_message(number: int, expected: DiskFailure) -> None:
    error = disk_error(OSError(number, os.strerror(number)), "write", "commitlog/0")
    assert error.failure is expected
    assert str(error) == f"write commitlog/0: {os.strerror(number)}"


@pytest.mark.parametrize(
    ("call", "operation", "path"),
    [
        (lambda disk: disk.open("commitlog/0"), "open", "commitlog/0"),
        (lambda disk: disk.create("commitlog/0"), "create", "commitlog/0"),
        (lambda disk: disk.rename("old", "new"), "rename", "old"),
        (lambda disk: disk.sync_folder("index"), "sync_folder", "index"),
        (lambda disk: disk.lock("nowhere/lock"), "lock", "nowhere/lock"),
        (lambda disk: disk.create("file").read(1 << 63, 1), "read", "file"),
    ],
)
def test_error_text_has_the_whole_path_and_error_value_the_relative_one(
    disk: FolderDisk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[FolderDisk], object],
    operation: str,
    path: str,
) -> None:
    def refuse(descriptor: int, size: int, position: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", refuse)
    with pytest.raises(DiskError) as caught:
        call(disk)
    assert str(caught.value).startswith(f"{operation} {tmp_path}/store/{path}: ")
    assert caught.value.path == path


@pytest.fixture
def looked_at(tmp_path: Path) -> Iterator[FolderDisk]:
    """A read-only disk with a folder, a file and a lock."""
    (tmp_path / "store" / "folder").mkdir(parents=True)
    (tmp_path / "store" / "file").write_bytes(b"abc")
    (tmp_path / "store" / "lock").touch()
    disk = FolderDisk(tmp_path / "store", is_read_only=True)
    yield disk
    disk.close()


def test_read_only_disk_opens_no_file_for_writing(
    looked_at: FolderDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def read_only(path: str, flags: int, *arguments: int, dir_fd: int | None = None) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, *arguments, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", read_only)
    assert [entry.name for entry in looked_at.list("")] == ["file", "folder", "lock"]
    file = looked_at.open("file")
    other = file.duplicate()
    assert (file.read(0, 9), other.read(1, 9), file.size()) == (b"abc", b"bc", 3)
    assert not looked_at.is_locked("lock")
    file.close()
    other.close()


@pytest.mark.parametrize(
    "call",
    [
        lambda disk: disk.create("new"),
        lambda disk: disk.make_folder("new"),
        lambda disk: disk.rename("file", "new"),
        lambda disk: disk.remove("file"),
        lambda disk: disk.remove("folder"),
        lambda disk: disk.remove_gradually("file"),
        lambda disk: disk.lock("new"),
        lambda disk: disk.open("file").write(0, [b"x"]),
        lambda disk: disk.open("file").duplicate().write(0, [b"x"]),
        lambda disk: disk.open("file").allocate(0, 10),
        lambda disk: disk.open("file").resize(1),
    ],
)
def test_changes_of_a_read_only_disk_are_refused(
    looked_at: FolderDisk, tmp_path: Path, call: Callable[[FolderDisk], object]
) -> None:
    with pytest.raises(LocalError, match=rf"{tmp_path}/store/.* opened to be read only"):
        call(looked_at)
    assert [entry.name for entry in looked_at.list("")] == ["file", "folder", "lock"]
    assert (tmp_path / "store" / "file").read_bytes() == b"abc"


def test_read_only_disk_does_not_create_its_root(tmp_path: Path) -> None:
    with pytest.raises(DiskError) as caught:
        FolderDisk(tmp_path / "typo", is_read_only=True)
    assert caught.value.failure is DiskFailure.NOT_FOUND
    assert not (tmp_path / "typo").exists()


def test_a_lock_is_seen_without_taking_it(
    disk: FolderDisk, looked_at: FolderDisk, tmp_path: Path
) -> None:
    assert not looked_at.is_locked("no lock was made")
    assert not looked_at.is_locked("lock")
    disk.lock("lock")
    assert looked_at.is_locked("lock")
    disk.close()
    with other_process(tmp_path / "store/lock") as other:
        assert answer(other) == "held"
        assert looked_at.is_locked("lock")
        other.communicate()
    assert not looked_at.is_locked("lock")
    assert [entry.name for entry in looked_at.list("")] == ["file", "folder", "lock"]


def test_a_refused_allocation_leaves_the_size(
    disk: FolderDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.posix_fallocate

    def full_at_the_second(descriptor: int, position: int, size: int) -> None:
        if position:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor, position, size)

    monkeypatch.setattr(os, "posix_fallocate", full_at_the_second)
    file = disk.create("a")
    file.write(0, [b"abc"])
    with pytest.raises(DiskError) as caught:
        file.allocate(0, ALLOCATE_STEP_BYTES + 1)
    assert caught.value.failure is DiskFailure.NO_SPACE
    assert file.read(0, 10) == b"abc"
    file.close()


def test_allocated_space_is_reserved_on_the_device(disk: FolderDisk, tmp_path: Path) -> None:
    file = disk.create("a")
    file.allocate(0, 1 << 20)
    assert (tmp_path / "store" / "a").stat().st_blocks * 512 >= 1 << 20
    file.close()


def test_large_file_is_unlinked_first_and_then_truncated_in_steps(
    disk: FolderDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, bool]] = []
    real = os.ftruncate

    def cut(descriptor: int, size: int) -> None:
        seen.append((size, (tmp_path / "store" / "a").exists()))
        real(descriptor, size)

    file = disk.create("a")
    file.resize(2 * REMOVE_STEP_BYTES + 5)
    file.close()
    monkeypatch.setattr(os, "ftruncate", cut)
    disk.remove_gradually("a")
    assert seen == [(REMOVE_STEP_BYTES + 5, False), (5, False), (0, False)]


def test_cold_bytes_are_not_waited_for(disk: FolderDisk) -> None:
    file = disk.create("a")
    file.write(0, [os.urandom(1 << 20)])
    file.sync()
    warm = file.read_cached(0, 1000)
    assert (warm is not None) == disk.supports_nowait("")
    assert warm in {None, file.read(0, 1000)}

    def is_cold() -> bool:
        file.forget_cached(0, 1 << 20)
        if file.read_cached(1 << 19, 1000) is None:
            return True
        time.sleep(0.1)  # the system keeps a page that another process uses at this moment
        return False

    assert any(is_cold() for _ in range(50))
    assert len(file.read(1 << 19, 1000)) == 1000
    assert (file.read_cached(1 << 19, 1000) is not None) == disk.supports_nowait("")
    file.close()


def test_cached_bytes_do_not_change_when_others_are_read(disk: FolderDisk) -> None:
    if not disk.supports_nowait(""):
        pytest.skip("this file system cannot tell what is cached")
    content = os.urandom(2 * SCRATCH_BYTES)
    file = disk.create("a")
    file.write(0, [content])
    places = [(0, 1000), (500, 70), (3, SCRATCH_BYTES), (7, SCRATCH_BYTES + 1), (9, 1 << 20)]
    read = [file.read_cached(position, size) for position, size in places]
    assert read == [content[position : position + size] for position, size in places]
    file.close()


def test_a_file_system_that_cannot_tell_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, buffers: object, position: int, flags: int) -> int:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "preadv", refuse)
    disk = FolderDisk(tmp_path)
    assert not disk.supports_nowait("")
    file = disk.create("a")
    file.write(0, [b"abc"])
    assert file.read_cached(0, 3) is None
    assert file.read(0, 3) == b"abc"
    file.close()
    disk.close()


def test_a_classic_lock_of_another_process_is_seen(disk: FolderDisk, tmp_path: Path) -> None:
    disk.create("lock").close()
    with other_process(tmp_path / "store/lock") as other:
        assert answer(other) == "held"
        with pytest.raises(DiskError, match="/store/lock: locked by another process"):
            disk.lock("lock")
        other.communicate()
    disk.lock("lock")


def test_classic_lock_of_another_process_excludes_this_one(
    disk: FolderDisk, tmp_path: Path
) -> None:
    disk.lock("lock")
    with other_process(tmp_path / "store/lock") as other:
        assert answer(other) == "refused"
        other.communicate()


def test_descriptors_are_not_inherited(disk: FolderDisk) -> None:
    file = disk.create("a")
    other = file.duplicate()
    assert not os.get_inheritable(file.fileno())
    assert not os.get_inheritable(other.fileno())
    file.close()
    other.close()
