"""Tests `gantry store` as a program, on real folders."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gantrymq.app.store_tool import run
from gantrymq.fakes.stores.store import OpenedStore
from gantrymq.fakes.stores.store_damage import tree
from gantrymq.fakes.stores.store_tool import (
    LOG,
    STORES,
    content,
    damage,
    gantry,
    program,
    told,
    unlink,
    unmount,
    unpack,
)
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.testing.memory_disk import MemoryDisk


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack(tmp_path)


@pytest.mark.parametrize("name", STORES)
def test_check_of_java_stores_is_clean_and_changes_nothing(tmp_path: Path, name: str) -> None:
    store = unpack(tmp_path, name)
    before = content(store)
    done = program("check", store)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\nsound\n")
    assert "maxHashSlotNum=200, maxIndexNum=100" in done.stdout
    assert content(store) == before


def test_damage_is_reported_with_place_and_remedy(store: Path) -> None:
    damage(store, LOG, 245 + 90)
    done = program("check", store)
    assert done.returncode == 1
    assert "ERROR  damaged log: 1" in done.stdout
    assert "[245]" in done.stdout
    assert "repair --keep" in done.stdout
    assert done.stdout.endswith("not sound\n")


def test_check_prints_json(store: Path) -> None:
    damage(store, "consumequeue/VecTopic/0/00000000000000000000", 66)
    code, answer = told("check", store)
    assert code == 1
    assert answer["sound"] is False
    assert answer["log"]["messages"] == 215
    assert answer["sizes"]["maxIndexNum"] == 100
    assert answer["findings"][0]["place"] == "VecTopic/0"


def test_folder_that_is_no_store_is_refused(tmp_path: Path) -> None:
    done = gantry("check", tmp_path)
    assert done.returncode == 2
    assert "no folder commitlog" in done.stderr
    assert gantry("check", tmp_path / "typo").returncode == 2
    assert "File name too long" in gantry("check", tmp_path / ("x" * 300)).stderr
    assert not (tmp_path / "typo").exists()
    assert gantry("repair", tmp_path, "--yes").returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_running_broker_is_a_warning_for_check_and_refuses_a_repair(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = FolderDisk(store)
    broker.lock("lock")
    assert run(["check", str(store)]) == 1
    assert "a broker is running" in capsys.readouterr().out
    assert run(["repair", str(store), "--yes"]) == 2
    assert "stop it" in capsys.readouterr().err
    broker.close()
    assert run(["check", str(store)]) == 0


def test_running_broker_is_reported_where_queues_began_anew(tmp_path: Path) -> None:
    disk = MemoryDisk()
    opened = OpenedStore(disk)
    for number in range(2):
        opened.put(number)
        opened.turn()
        if not number:
            opened.store.delete_topic("T")
            opened.turn()
    opened.settle()
    opened.close()
    for path, data in tree(disk).items():
        if path not in {"gantry/deleted", "gantry/reserve"}:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(data)
    broker = FolderDisk(tmp_path)
    broker.lock("lock")
    done = gantry("check", tmp_path)
    broker.close()
    assert "begun anew" in done.stdout
    assert "a broker is running" in done.stdout


def test_sizes_come_from_the_brokers_file(store: Path, tmp_path: Path) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("mappedFileSizeCommitLog=65536\nbrokerName=b\n")
    done = gantry("check", store, "-c", conf, "--set", "maxIndexNum=100")
    assert done.returncode == 0
    assert "mappedFileSizeCommitLog=65536: as given" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "/nowhere/broker.conf"],
        ["--set", "maxIndexNum"],
        ["--set", "maxIndexNum=x"],
        ["--set", "nosuchkey=1"],
        ["--set", "storePathCommitLog=/elsewhere"],
    ],
)
def test_invalid_arguments_are_refused(store: Path, arguments: list[str]) -> None:
    assert run(["check", str(store), *arguments]) == 2


def test_unused_setting_is_refused_with_the_list_of_used_ones(store: Path) -> None:
    done = gantry("check", store, "--set", "maxIndexNums=100")
    assert done.returncode == 2
    assert "maxIndexNums=100: this command only uses mappedFileSizeCommitLog, " in done.stderr
    assert "maxIndexNum, messageDelayLevel" in done.stderr


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


@pytest.mark.parametrize(
    "command",
    [["check"], ["stats"], ["dump"], ["dump", "--queues"], ["dump", "--checkpoint"], ["repair"]],
)
def test_reading_commands_need_no_permission_to_write(read_only: Path, command: list[str]) -> None:
    done = gantry(*command[:1], read_only, *command[1:])
    assert (done.returncode, done.stderr) == (0, "")


def test_repair_without_permission_reports_the_path(read_only: Path) -> None:
    done = gantry("repair", read_only, "--rebuild", "all", "--yes")
    assert done.returncode == 2
    assert f"{read_only}/lock: Read-only file system" in done.stderr


@pytest.mark.parametrize("command", ["check", "stats", "dump", "repair"])
def test_reading_commands_leave_no_lock_file(store: Path, command: str) -> None:
    (store / "lock").unlink()
    assert gantry(command, store).returncode == 0
    assert not (store / "lock").exists()


@pytest.mark.parametrize(
    ("harm", "text"),
    [
        (unmount, "commitlog: has no file of the log, but messages are known to the queues (17), "),
        (lambda store: shutil.rmtree(store / "commitlog"), "commitlog: is not there, but "),
        (unlink, "commitlog: is a link to /nowhere/commitlog, and nothing is there, but "),
    ],
)
def test_missing_log_is_reported_as_not_mounted(
    store: Path, harm: Callable[[Path], None], text: str
) -> None:
    harm(store)
    before = content(store)
    done = gantry("check", store)
    assert (done.returncode, done.stderr) == (1, "")
    assert "ERROR  missing log: 1" in done.stdout
    assert text in done.stdout
    assert "mount its disk" in done.stdout
    assert "next start removes them" not in done.stdout
    for options in ([], ["--rebuild", "all"], ["--keep", "newer"]):
        plan = gantry("repair", store, "--yes", *options)
        assert plan.returncode == 1
        assert plan.stdout.startswith("left as it is: commitlog ")
        assert "mount its disk, or restore it" in plan.stdout
        assert len(plan.stdout.splitlines()) == 1
    assert content(store) == before


def test_repair_can_give_up_a_missing_log(store: Path) -> None:
    unmount(store)
    queues = content(store / "consumequeue")
    done = gantry("repair", store, "--keep", "older", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert gantry("check", store).returncode == 0
    (side,) = (store / "gantry/repair").iterdir()
    assert content(side / "consumequeue") == queues
    assert not (store / "consumequeue").exists()


def test_repair_leaves_a_dangling_link(store: Path) -> None:
    unlink(store)
    done = gantry("repair", store, "--keep", "older", "--yes")
    assert done.returncode == 1
    assert (
        "left as it is: commitlog is a link to /nowhere/commitlog: create a folder" in done.stdout
    )
    for command in ("stats", "dump"):
        refused = gantry(command, store)
        assert refused.returncode == 2
        assert "is a link to /nowhere/commitlog, and nothing is there" in refused.stderr


def test_log_elsewhere_is_read_through_a_link(store: Path, tmp_path: Path) -> None:
    (store / "commitlog").rename(tmp_path / "fast")
    (store / "commitlog").symlink_to(tmp_path / "fast")
    assert gantry("check", store, "--set", f"storePathCommitLog={tmp_path}/fast").returncode == 0
