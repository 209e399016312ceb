"""How a broker carries out what was decided about its disk, and when it does not."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.base.disk import DiskError
from gantrymq.broker.setup import disk_decisions
from gantrymq.broker.setup.disk_decisions import DecisionWatch
from gantrymq.ha.disk import identity
from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.member import disk_decision
from gantrymq.ha.member.disk_decision import Choice, Decision
from gantrymq.runtime.logs import Log
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.store.layout import LOCK
from gantrymq.testing.faulty_disk import FaultyDisk

OURS, THEIRS, DISK = "a" * 32, "b" * 32, "c" * 32
ADOPT = Decision(Choice.ADOPT, OURS)


@dataclass
class Subject:
    is_foreign: bool = False
    epoch: int = 0
    followed: str = ""


@dataclass
class Watched:
    disk: FaultyDisk
    reasons: list[str]

    def look(self, subject: Subject) -> None:
        DecisionWatch(self.disk, Log("member"), self.reasons.append).look(subject)


@pytest.fixture
def watched() -> Watched:
    disk = FaultyDisk()
    disk_decision.write(disk, ADOPT)
    return Watched(disk, [])


def test_a_foreign_member_restarts_to_have_the_decision_carried_out(watched: Watched) -> None:
    watched.look(Subject(is_foreign=True))
    assert watched.reasons == [f"carrying out the decision about this disk: adopt group {OURS}"]
    assert disk_decision.read(watched.disk) == ADOPT


@pytest.mark.parametrize("subject", [Subject(epoch=7), Subject(followed="10.0.0.1:10912")])
def test_running_member_drops_the_decision_and_logs_it(
    watched: Watched, subject: Subject, caplog: pytest.LogCaptureFixture
) -> None:
    watched.look(subject)
    assert watched.reasons == []
    assert disk_decision.read(watched.disk) is None
    assert "dropped a decision about this disk" in caplog.text


def test_a_decision_waits_until_it_is_known_whether_the_disk_is_used(watched: Watched) -> None:
    watched.look(Subject())
    assert watched.reasons == []
    assert disk_decision.read(watched.disk) == ADOPT


def test_no_decision_is_no_event(caplog: pytest.LogCaptureFixture) -> None:
    reasons: list[str] = []
    watch = DecisionWatch(FaultyDisk(), Log("member"), reasons.append)
    watch.look(Subject(is_foreign=True))
    assert (reasons, caplog.text) == ([], "")


def test_failing_disk_is_logged_once(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    watch = DecisionWatch(watched.disk, Log("member"), watched.reasons.append)
    for _ in range(3):
        watched.disk.fail("open")
        watch.look(Subject(is_foreign=True))
    assert watched.reasons == []
    assert caplog.text.count("cannot act on the decision") == 1


def test_a_start_carries_the_decision_out_and_gives_the_lock_back(tmp_path: Path) -> None:
    disk = FolderDisk(tmp_path)
    identity.write(disk, Identity(DISK, THEIRS))
    disk_decision.write(disk, ADOPT)
    disk_decisions.carry_out(tmp_path, Log("member"))
    assert identity.read(disk) == Identity(DISK, OURS)
    assert disk_decision.read(disk) is None
    disk.lock(LOCK)


def test_a_start_beside_another_process_changes_nothing(tmp_path: Path) -> None:
    disk = FolderDisk(tmp_path)
    identity.write(disk, Identity(DISK, THEIRS))
    disk_decision.write(disk, ADOPT)
    disk.lock(LOCK)
    with pytest.raises(DiskError):
        disk_decisions.carry_out(tmp_path, Log("member"))
    assert identity.read(disk) == Identity(DISK, THEIRS)


def test_a_start_without_a_decision_makes_no_lock(tmp_path: Path) -> None:
    disk_decisions.carry_out(tmp_path, Log("member"))
    assert list(tmp_path.iterdir()) == []
