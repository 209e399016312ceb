"""Tests that a file is replaced atomically, synced, and keeps its permissions."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.runtime.storage import files
from gantrymq.runtime.storage.files import FileSaver, SaveFailed, save_now


@pytest.fixture
def saver() -> Iterator[FileSaver]:
    saver = FileSaver()
    yield saver
    saver.close()


async def test_file_is_replaced_atomically_without_leftovers(
    saver: FileSaver, tmp_path: Path
) -> None:
    path = tmp_path / "new folder" / "kvConfig.json"

    assert await saver.save(path, b"one") is None
    assert await saver.save(path, b"two") is None

    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


async def test_a_refusal_is_a_value_that_names_the_file(saver: FileSaver, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    failed = await saver.save(tmp_path / "file" / "below", b"x")

    assert isinstance(failed, SaveFailed)
    assert failed.path == tmp_path / "file" / "below"
    assert str(tmp_path / "file") in failed.cause


async def test_unusable_path_is_refused(saver: FileSaver, tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)

    for path in (circle, tmp_path / "nul\0"):
        assert isinstance(await saver.save(path, b"x"), SaveFailed)


def test_a_failed_rename_keeps_the_old_content_and_removes_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config"
    save_now(path, b"old")

    def refuse(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    failed = save_now(path, b"new")

    assert failed is not None
    assert "No space left" in failed.cause
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_content_and_directory_are_synced_in_that_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    save_now(tmp_path / "config", b"x")

    assert synced == [f"config.{os.getpid()}.new", tmp_path.name]


def test_permissions_stay_and_links_are_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o600)
    link.symlink_to(real)

    assert save_now(link, b"new") is None

    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o600


async def test_the_last_of_many_saves_wins_even_when_its_caller_is_cancelled(
    saver: FileSaver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config"
    gate = threading.Event()
    replace = files._replace

    def wait_then_replace(target: Path, data: bytes, new_mode: int) -> None:
        assert gate.wait(30)
        replace(target, data, new_mode)

    monkeypatch.setattr(files, "_replace", wait_then_replace)
    saves = [asyncio.create_task(saver.save(path, b"%d" % number)) for number in range(5)]
    await asyncio.sleep(0)
    saves[0].cancel()
    gate.set()
    await asyncio.wait(saves)

    assert saves[0].cancelled()
    assert path.read_bytes() == b"4"


def test_new_file_with_secrets_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    for name, is_secret, mode in (("users", True, 0o600), ("topics", False, 0o644)):
        path = tmp_path / name
        assert files.save_now(path, b"x", is_secret=is_secret) is None
        assert path.stat().st_mode & 0o777 == mode & ~_umask()


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
