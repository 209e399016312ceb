"""Tests `gantry store identity`, `adopt` and `archive` as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gantrymq.app.store_tool import run
from gantrymq.ha.disk import epoch_file, identity
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.lease import lease_copy
from gantrymq.ha.lease.lease import Lease
from gantrymq.ha.member import disk_decision, persistent_state
from gantrymq.ha.member.disk_decision import Choice, Decision
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.store.layout import LOCK

OURS, THEIRS, DISK = "a" * 32, "b" * 32, "c" * 32


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A disk of another group."""
    disk = FolderDisk(tmp_path)
    disk.make_folder("commitlog")
    identity.write(disk, Identity(DISK, THEIRS))
    persistent_state.write(disk, persistent_state.PersistentState(9, "boot"))
    epoch_file.write(disk, tuple(Epoch(number, number * 100) for number in range(1, 9)))
    lease_copy.write(disk, Lease("", 2, "h:1", "h:2", 9, frozenset({1, 2}), group=THEIRS))
    disk.close()
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def archive_of(store: Path) -> Path:
    (found,) = store.glob("archive-*")
    return found


def test_identity_prints_the_files_of_the_disk_and_changes_nothing(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = names(store / "gantry")
    assert run(["identity", str(store)]) == 0
    told = capsys.readouterr().out
    assert f"disk           {DISK}\ngroup          {THEIRS}\nhighest epoch  9\n" in told
    assert "epochs         3 older ones, 4 at 400, 5 at 500, 6 at 600, 7 at 700, 8 at 800" in told
    assert (
        f"lease          group {THEIRS}, epoch 9, renewal 0, held by member 2, in sync: 1, 2"
        in (told)
    )
    assert names(store / "gantry") == before
    assert LOCK not in names(store)


@pytest.mark.parametrize(
    "command", [["identity"], ["archive"], ["adopt", "--group", OURS]], ids=lambda each: each[0]
)
def test_folder_around_the_store_is_refused_and_not_moved(
    store: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    around = tmp_path_factory.mktemp("volume")
    store.rename(around / "store")
    assert run([*command, str(around)]) != 0
    told = capsys.readouterr().err
    assert f"{around} is not the folder of a store; name {around / 'store'}" in told
    assert names(around) == ["store"]


def test_identity_in_json(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["identity", str(store), "--output", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["disk"], told["group"], told["highestEpoch"]) == (DISK, THEIRS, 9)
    assert told["epochs"][0] == {"number": 1, "start": 100}
    assert told["lease"]["inSync"] == [1, 2]
    assert told["decision"] is None


def test_damaged_file_is_reported_beside_the_others(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (store / "gantry/member").write_bytes(b"damaged")
    assert run(["identity", str(store)]) == 1
    told = capsys.readouterr().out
    assert DISK in told
    assert "ERROR  gantry/member is damaged" in told


def test_an_empty_folder_has_no_identity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["identity", str(tmp_path)]) == 0
    assert "none: no member of a group has opened this store" in capsys.readouterr().out
    assert run(["identity", str(tmp_path / "typo")]) == 2
    assert run(["archive", str(tmp_path / "typo")]) == 2
    assert names(tmp_path) == []


def test_adopt_writes_the_group_and_removes_the_lease_copy(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["adopt", str(store), "--group", OURS]) == 0
    assert f"adopted group {OURS}: disk {DISK} belonged to {THEIRS}" in capsys.readouterr().out
    disk = FolderDisk(store)
    assert identity.read(disk) == Identity(DISK, OURS)
    assert lease_copy.read(disk) is None
    assert disk_decision.read(disk) is None
    assert persistent_state.read(disk).epoch == 9
    assert not disk.is_locked(LOCK)


def test_adopt_refuses_an_invalid_uuid_and_an_empty_folder(
    store: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["adopt", str(store), "--group", "broker-a"]) == 2
    assert "gantrymq.dev/group-id" in capsys.readouterr().err
    assert run(["adopt", str(tmp_path_factory.mktemp("empty")), "--group", OURS]) == 2
    assert "there are no messages to adopt" in capsys.readouterr().err


def test_archive_leaves_an_empty_store_and_every_file_in_the_archive(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["archive", str(store)]) == 0
    folder = archive_of(store)
    assert folder.name in capsys.readouterr().out
    assert names(store) == [folder.name, "gantry", "lock"]
    assert names(store / "gantry") == []
    assert names(folder) == ["commitlog", "gantry"]
    assert names(folder / "gantry") == ["decision", "epochs", "identity", "lease", "member"]
    assert run(["archive", str(store)]) == 0
    assert "nothing to archive" in capsys.readouterr().out
    assert archive_of(store) == folder


def test_next_command_finishes_an_interrupted_archive(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk = FolderDisk(store)
    disk_decision.write(disk, Decision(Choice.ARCHIVE, "archive-1"))
    disk.make_folder("archive-1")
    disk.rename("commitlog", "archive-1/commitlog")
    assert run(["identity", str(store)]) == 0
    assert "archive into archive-1; the next start of the broker" in capsys.readouterr().out
    assert run(["archive", str(store)]) == 0
    assert names(store) == ["archive-1", "gantry", "lock"]
    assert "identity" in names(store / "archive-1/gantry")


def test_running_broker_gets_one_decision_at_most(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = FolderDisk(store)
    broker.lock(LOCK)
    assert run(["adopt", str(store), "--group", OURS]) == 0
    assert "a broker has" in capsys.readouterr().out
    assert disk_decision.read(broker) == Decision(Choice.ADOPT, OURS)
    assert identity.read(broker) == Identity(DISK, THEIRS)
    assert run(["archive", str(store)]) == 2
    assert "a decision waits for the broker" in capsys.readouterr().err
    assert list(store.glob("archive-*")) == []


def test_broker_of_fixed_roles_must_be_stopped_first(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (store / "gantry/identity").unlink()
    broker = FolderDisk(store)
    broker.lock(LOCK)
    assert run(["archive", str(store)]) == 2
    assert "stop it and run this command again" in capsys.readouterr().err
    assert disk_decision.read(broker) is None


def test_a_log_on_another_volume_is_not_archived(
    store: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path_factory.mktemp("logs")
    (store / "commitlog").rmdir()
    (store / "commitlog").symlink_to(elsewhere)
    assert run(["archive", str(store)]) == 2
    assert "commitlog is on another volume" in capsys.readouterr().err
    assert "archive-" not in " ".join(names(store))
