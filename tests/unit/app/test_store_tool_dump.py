"""Tests `gantry store dump`, `stats` and `repair` on real folders."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gantrymq.fakes.stores.store_tool import (
    CODE,
    LOG,
    content,
    damage,
    gantry,
    keep_tail,
    program,
    told,
    unpack,
)
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.log_truncation import TruncationRequest


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack(tmp_path)


@pytest.fixture
def read_only(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store on a file system that is mounted read-only."""
    real = os.open

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def read(path: str, flags: int, *arguments: int, dir_fd: int | None = None) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            refuse()
        return real(path, flags, *arguments, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", read)
    for name in ("mkdir", "rename", "unlink", "rmdir", "link", "symlink", "utime"):
        monkeypatch.setattr(os, name, refuse)
    return store


def test_dump_prints_a_line_for_each_message(store: Path) -> None:
    done = gantry("dump", store, "--topic", "VecTopic", "--queue", "0", "--limit", "2")
    lines = done.stdout.splitlines()
    assert [line[:20] for line in lines] == [f"{0:020d}", f"{497:020d}"]
    assert "VecTopic/0@0" in lines[0]
    assert "TAGS=TagA" in lines[0]
    assert "'hello 0 '" in lines[0]


def test_dump_in_json_has_the_body_on_request(store: Path) -> None:
    done = gantry("dump", store, "--key", "D2", "--from", "70000", "--body", "--output", "json")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert {each["body"] for each in messages if "body" in each} == {"delay 2"}
    assert messages[0]["properties"]["DELAY"] == "2"


@pytest.mark.parametrize(
    ("listing", "member", "count"), [("--queues", "topic", 17), ("--index", "indexCount", 6)]
)
def test_dump_lists(store: Path, listing: str, member: str, count: int) -> None:
    done = gantry("dump", store, listing, "--output", "json")
    assert len([json.loads(line)[member] for line in done.stdout.splitlines()]) == count


def test_dump_prints_the_checkpoint(store: Path) -> None:
    assert "physicMsgTimestamp=1795224533507" in gantry("dump", store, "--checkpoint").stdout


def test_stats_add_up(store: Path) -> None:
    code, answer = told("stats", store)
    assert code == 0
    assert answer["total"]["messages"] == 215
    assert sum(each["messages"] for each in answer["queues"]) == 215
    assert len(answer["index"]) == 6
    assert gantry("stats", store).stdout.count("VecTopic") == 1


def test_repair_without_yes_changes_nothing(store: Path) -> None:
    damage(store, LOG, 497 + 90)
    before = content(store)
    done = gantry("repair", store, "--keep", "older")
    assert done.returncode == 1
    assert "nothing was changed: add --yes" in done.stdout
    assert content(store) == before


def test_a_sound_store_has_nothing_to_repair(store: Path) -> None:
    done = gantry("repair", store)
    assert (done.returncode, done.stdout) == (0, "nothing to do\n")


@pytest.mark.parametrize("side", ["older", "newer"])
def test_repair_leaves_a_sound_store_and_keeps_the_removed_parts(store: Path, side: str) -> None:
    damage(store, LOG, 497 + 90)
    lost = (store / LOG).read_bytes()[497:].rstrip(b"\0")
    done = program("repair", store, "--keep", side, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert program("check", store).returncode == 0
    assert any(lost in data for name, data in content(store).items() if "gantry/repair" in name)


def test_log_can_be_truncated_after_a_repair(store: Path) -> None:
    """The folder of removed parts does not conflict with the file `gantry/cut`."""
    damage(store, LOG, 497 + 90)
    assert gantry("repair", store, "--keep", "older", "--yes").returncode == 0
    disk = FolderDisk(store)
    log_truncation.request(disk, TruncationRequest(497, epoch=5))
    assert log_truncation.requested(disk) == TruncationRequest(497, epoch=5)


def test_repair_leaves_an_interrupted_log_without_keep_option(store: Path) -> None:
    damage(store, LOG, 497 + 90)
    done = gantry("repair", store, "--yes")
    assert done.returncode == 1
    assert "choose --keep older or --keep newer" in done.stdout


def test_rebuilt_queues_equal_those_of_java(store: Path) -> None:
    before = content(store / "consumequeue")
    assert gantry("repair", store, "--rebuild", "all", "--yes").returncode == 0
    assert content(store / "consumequeue") == before
    assert gantry("check", store).returncode == 0


@pytest.mark.parametrize("options", [[], ["--rebuild", "all"]])
def test_foreign_files_are_moved_aside(store: Path, options: list[str]) -> None:
    names = ["commitlog/note", "consumequeue/note", "consumequeue/VecTopic/0/note", "index/note"]
    for name in names:
        (store / name).write_bytes(name.encode())
    assert gantry("repair", store, "--yes", *options).returncode == 0
    (side,) = (store / "gantry/repair").iterdir()
    assert {name: content(side)[name] for name in names} == {name: name.encode() for name in names}


def test_help_names_the_commands() -> None:
    done = program("--help")
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("check", "dump", "stats", "repair"))


def test_closed_output_pipe_is_no_error(store: Path) -> None:
    shell = f"{sys.executable} -c '{CODE}' store dump {store} | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_stats_lists_truncated_tails(store: Path) -> None:
    assert told("stats", store)[1]["tails"] == []
    path = keep_tail(store, 245, 497)
    _, answer = told("stats", store)
    (tail,) = answer["tails"]
    assert (tail["file"], tail["position"], tail["bytes"], tail["messages"]) == (path, 245, 252, 1)
    assert (tail["epoch"], tail["whole"]) == (6, True)
    done = gantry("stats", store)
    assert f"{path}: 1 messages, 252 bytes, cut from the log at 245 for epoch 6, 20" in done.stdout
    damage(store, path, 100)
    assert "damaged since" in gantry("stats", store).stdout
    assert told("stats", store)[1]["tails"][0]["whole"] is False


def test_truncated_tail_is_dumped_like_the_log(store: Path) -> None:
    path = keep_tail(store, 245, 497)
    of_log = gantry("dump", store, "--from", "245", "--to", "497", "--body", "--output", "json")
    for name in (path, path.rpartition("/")[2]):
        done = gantry("dump", store, "--tail", name, "--body", "--output", "json")
        assert done.stdout.splitlines()[:-1] == of_log.stdout.splitlines()
        assert json.loads(done.stdout.splitlines()[-1])["break"] == "end"
    done = gantry("dump", store, "--tail", "nothing")
    assert done.returncode == 2
    assert f"it has: {path}" in done.stderr
