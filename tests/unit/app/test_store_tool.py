"""Tests `gantry store` as a program, on real folders."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gantrymq.app.store_tool import run
from gantrymq.fakes.stores.store import OpenedStore
from gantrymq.fakes.stores.store_damage import tree
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.log_truncation import TruncationRequest
from gantrymq.testing.memory_disk import MemoryDisk

VECTORS = Path(__file__).resolve().parents[2] / "vectors"
STORES = ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"]
LOG = "commitlog/00000000000000000000"
CODE = "from gantrymq.app.entry import main; main()"


def unpack(folder: Path, name: str = "5.3.3-clean") -> Path:
    with tarfile.open(VECTORS / f"store-{name}.tar.gz") as archive:
        # Before 3.11.4 there are no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)  # noqa: S202 - an archive of ours
    return folder / "store"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack(tmp_path)


def program(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-c", CODE, "store", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def gantry(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, which is faster."""
    command = [*map(str, arguments)]
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = run(command)
    return subprocess.CompletedProcess(command, code, out.getvalue(), error.getvalue())


def told(*arguments: str | Path) -> tuple[int, Any]:
    """Exit code and JSON; Any: of many shapes."""
    done = gantry(*arguments, "--output", "json")
    return done.returncode, json.loads(done.stdout)


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def damage(store: Path, name: str, position: int, data: bytes = b"\xff\xff") -> None:
    with (store / name).open("r+b") as file:
        file.seek(position)
        file.write(data)


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
    assert "mappedFileSizeCommitLog=65536: as said" in done.stdout


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


def unmount(store: Path) -> None:
    """Empty the folder of the log, like an unmounted disk."""
    shutil.rmtree(store / "commitlog")
    (store / "commitlog").mkdir()


def unlink(store: Path) -> None:
    """Replace the log by a dangling link, like a missing disk."""
    shutil.rmtree(store / "commitlog")
    (store / "commitlog").symlink_to("/nowhere/commitlog")


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
    assert "is its disk mounted?" in done.stdout
    assert "next start takes them away" not in done.stdout
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
    assert "left as it is: commitlog is a link to /nowhere/commitlog: make a folder" in done.stdout
    for command in ("stats", "dump"):
        refused = gantry(command, store)
        assert refused.returncode == 2
        assert "is a link to /nowhere/commitlog, and nothing is there" in refused.stderr


def test_log_elsewhere_is_read_through_a_link(store: Path, tmp_path: Path) -> None:
    (store / "commitlog").rename(tmp_path / "fast")
    (store / "commitlog").symlink_to(tmp_path / "fast")
    assert gantry("check", store, "--set", f"storePathCommitLog={tmp_path}/fast").returncode == 0


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
    assert "say --keep older or --keep newer" in done.stdout


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


def keep_tail(store: Path, start: int, end: int) -> str:
    """Save this part of the log as a truncated tail."""
    data = (store / LOG).read_bytes()[start:end]
    path = f"gantry/tails/{start:020d}-{end:020d}-6-{zlib.crc32(data):08x}"
    (store / path).parent.mkdir(parents=True)
    (store / path).write_bytes(data)
    return path


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
