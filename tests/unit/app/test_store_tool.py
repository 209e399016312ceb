"""`gantry store` as its users call it: as a program, on real folders."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gantrymq.app.store_tool import run
from gantrymq.runtime.disk import FolderDisk

VECTORS = Path(__file__).resolve().parents[2] / "vectors"
STORES = ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"]
LOG = "commitlog/00000000000000000000"
CODE = "from gantrymq.app.entry import main; main()"


def unpack(folder: Path, name: str = "5.3.3-clean") -> Path:
    with tarfile.open(VECTORS / f"store-{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "store"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack(tmp_path)


def program(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    command = [sys.executable, "-c", CODE, "store", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def gantry(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The same in this process, which is quicker."""
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
def test_javas_stores_check_clean_and_are_not_touched(tmp_path: Path, name: str) -> None:
    store = unpack(tmp_path, name)
    before = content(store)
    done = program("check", store)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\nsound\n")
    assert "maxHashSlotNum=200, maxIndexNum=100" in done.stdout
    assert content(store) == before


def test_harm_is_told_with_its_place_and_what_to_do(store: Path) -> None:
    damage(store, LOG, 245 + 90)
    done = program("check", store)
    assert done.returncode == 1
    assert "ERROR  damaged log: 1" in done.stdout
    assert "[245]" in done.stdout
    assert "repair --keep" in done.stdout
    assert done.stdout.endswith("not sound\n")


def test_the_answer_in_json(store: Path) -> None:
    damage(store, "consumequeue/VecTopic/0/00000000000000000000", 66)
    code, answer = told("check", store)
    assert code == 1
    assert answer["sound"] is False
    assert answer["log"]["messages"] == 215
    assert answer["sizes"]["maxIndexNum"] == 100
    assert answer["findings"][0]["place"] == "VecTopic/0"


def test_what_is_no_store_cannot_be_read(tmp_path: Path) -> None:
    done = gantry("check", tmp_path)
    assert done.returncode == 2
    assert "no folder commitlog" in done.stderr
    assert gantry("check", tmp_path / "typo").returncode == 2
    assert not (tmp_path / "typo").exists()


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
        ["--set", "storePathCommitLog=/elsewhere"],
    ],
)
def test_what_makes_no_sense_is_refused(store: Path, arguments: list[str]) -> None:
    assert run(["check", str(store), *arguments]) == 2


def test_dump_prints_a_line_for_each_message(store: Path) -> None:
    done = gantry("dump", store, "--topic", "VecTopic", "--queue", "0", "--limit", "2")
    lines = done.stdout.splitlines()
    assert [line[:20] for line in lines] == [f"{0:020d}", f"{497:020d}"]
    assert "VecTopic/0@0" in lines[0]
    assert "TAGS=TagA" in lines[0]
    assert "'hello 0 '" in lines[0]


def test_dump_in_json_has_the_body_when_asked(store: Path) -> None:
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


def test_a_plan_changes_nothing(store: Path) -> None:
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
def test_a_repair_leaves_a_sound_store_and_keeps_what_it_took(store: Path, side: str) -> None:
    damage(store, LOG, 497 + 90)
    lost = (store / LOG).read_bytes()[497:].rstrip(b"\0")
    done = program("repair", store, "--keep", side, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert program("check", store).returncode == 0
    assert any(lost in data for name, data in content(store).items() if "gantry/cut" in name)


def test_an_interrupted_log_is_left_without_a_decision(store: Path) -> None:
    damage(store, LOG, 497 + 90)
    done = gantry("repair", store, "--yes")
    assert done.returncode == 1
    assert "say --keep older or --keep newer" in done.stdout


def test_rebuilt_queues_are_javas_own(store: Path) -> None:
    before = content(store / "consumequeue")
    assert gantry("repair", store, "--rebuild", "all", "--yes").returncode == 0
    assert content(store / "consumequeue") == before
    assert gantry("check", store).returncode == 0


def test_help_names_the_commands() -> None:
    done = program("--help")
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("check", "dump", "stats", "repair"))


def test_a_reader_that_stops_early_is_no_error(store: Path) -> None:
    shell = f"{sys.executable} -c '{CODE}' store dump {store} | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
