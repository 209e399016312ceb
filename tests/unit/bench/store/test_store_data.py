"""Tests that copies of stores share the log's files and no others."""

from __future__ import annotations

from pathlib import Path

from bench.store.store_data import copy_store, drop_cached, log_files


def test_a_copy_shares_the_log_and_nothing_else(tmp_path: Path) -> None:
    store, copy = tmp_path / "store", tmp_path / "copy"
    for name in ("commitlog/00000000000000000000", "consumequeue/T/0/00000000000000000000"):
        path = store / name
        path.parent.mkdir(parents=True)
        path.write_bytes(name.encode() + bytes(1 << 20))
    (store / "abort").touch()
    copy_store(store, copy)
    assert sorted(path.name for path in copy.iterdir()) == ["abort", "commitlog", "consumequeue"]
    for path in store.rglob("0*"):
        twin = copy / path.relative_to(store)
        if path.is_file():
            assert twin.read_bytes() == path.read_bytes()
            assert twin.samefile(path) == ("commitlog" in path.parts)


def test_dropping_a_file_keeps_what_was_just_written(tmp_path: Path) -> None:
    folder = tmp_path / "commitlog"
    folder.mkdir()
    for name in ("2", "1"):
        (folder / name).write_bytes(b"not synced")
    files = log_files(tmp_path)
    drop_cached(files)
    assert [(path.name, path.read_bytes()) for path in files] == [
        ("1", b"not synced"),
        ("2", b"not synced"),
    ]
