"""Tests that a rotated file stays within its bounds and recovers from a full disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gantrymq.runtime.storage.rotated_file import RotatedFile, Rotation


def test_lines_are_appended_after_restarts(tmp_path: Path) -> None:
    path = tmp_path / "new" / "audit.log"
    for line in (b"one\n", b"two\n"):
        file = RotatedFile(path, Rotation(1000, 3))
        file.append(line)
        file.close()
    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_is_rotated_before_it_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = RotatedFile(path, Rotation(10, 3))
    for number in range(9):
        file.append(b"line%d\n" % number)
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "audit.log", "audit.log.1", "audit.log.2",
    ]  # fmt: skip
    assert path.read_bytes() == b"line8\n"
    assert (tmp_path / "audit.log.2").read_bytes() == b"line6\n"


def test_single_file_is_truncated(tmp_path: Path) -> None:
    file = RotatedFile(tmp_path / "audit.log", Rotation(10, 1))
    for number in range(3):
        file.append(b"line%d\n" % number)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"line2\n"]


def test_incomplete_last_line_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(b'{"cut')
    RotatedFile(path, Rotation(1000, 2)).append(b"next\n")
    assert path.read_bytes() == b'{"cut\nnext\n'


def test_full_disk_is_reported_and_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = tmp_path / "audit.log", os.write
    file = RotatedFile(path, Rotation(1000, 2))

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 3:
            return write(descriptor, data[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        file.append(b"lost!\n")
    monkeypatch.setattr(os, "write", write)
    file.append(b"next\n")
    assert path.read_bytes() == b"los\nnext\n"
