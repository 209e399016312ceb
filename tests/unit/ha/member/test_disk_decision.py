"""What a person decided about a disk, and that it is carried out wholly."""

from __future__ import annotations

import contextlib

import pytest

from gantrymq.base.disk import DiskError
from gantrymq.ha.disk import identity
from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.lease import lease_copy
from gantrymq.ha.lease.lease import Lease
from gantrymq.ha.member import disk_decision
from gantrymq.ha.member.disk_decision import Choice, Decision
from gantrymq.store.files import atomic_file
from gantrymq.store.layout import StoreRefusedError
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all

OURS, THEIRS, DISK, NEW = "a" * 32, "b" * 32, "c" * 32, "d" * 32
ADOPT = Decision(Choice.ADOPT, OURS)
ARCHIVE = Decision(Choice.ARCHIVE, "archive-20261128T031500.000000Z")


def foreign(choose: Chooser = keep_all) -> FaultyDisk:
    """A disk of another group, with what that group's Lease said."""
    disk = FaultyDisk(choose)
    disk.make_folder("gantry")
    disk.sync_folder("")
    identity.write(disk, Identity(DISK, THEIRS))
    lease_copy.write(disk, Lease("", group=THEIRS))
    disk.create("checkpoint").close()
    disk.sync_folder("")
    return disk


def finish(disk: FaultyDisk) -> None:
    decision = disk_decision.read(disk)
    if decision is not None:
        disk_decision.carry_out(disk, decision, lambda: NEW)


@pytest.mark.parametrize("decision", [ADOPT, ARCHIVE])
def test_a_decision_is_read_as_it_was_written(decision: Decision) -> None:
    disk = FaultyDisk()
    assert disk_decision.read(disk) is None
    disk_decision.write(disk, decision)
    assert disk_decision.read(disk.crash()) == decision


@pytest.mark.parametrize("decision", [ADOPT, ARCHIVE])
def test_every_damaged_byte_is_noticed(decision: Decision) -> None:
    data = disk_decision.encode(decision)
    for place in range(len(data)):
        damaged = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(StoreRefusedError, match="remove the file and run the command again"):
            disk_decision.decode(damaged)


@pytest.mark.parametrize(
    ("choice", "argument"),
    [
        (Choice.ADOPT, "a" * 31),
        (Choice.ADOPT, "A" * 32),
        (Choice.ARCHIVE, "commitlog"),
        (Choice.ARCHIVE, "archive-1/../../etc"),
    ],
)
def test_invalid_argument_is_refused(choice: Choice, argument: str) -> None:
    disk = FaultyDisk()
    with pytest.raises(ValueError, match=r"is not (a UUID|the name)"):
        disk_decision.write(disk, Decision(choice, argument))
    with pytest.raises(StoreRefusedError):
        disk_decision.decode(disk_decision.encode(Decision(choice, argument)))


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_an_adoption_that_stopped_anywhere_is_finished_later(choose: Chooser) -> None:
    for operations in range(1, 50):
        disk = foreign(choose)
        disk_decision.write(disk, ADOPT)
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            finish(disk)
            break
        disk = disk.crash()
        finish(disk)
        disk = disk.crash()
        assert identity.read(disk) == Identity(DISK, OURS)
        assert lease_copy.read(disk) is None
        assert disk_decision.read(disk) is None
    assert operations > 5


def test_a_disk_from_before_identities_gets_a_uuid_when_it_is_adopted() -> None:
    disk = FaultyDisk()
    disk_decision.write(disk, ADOPT)
    finish(disk)
    assert identity.read(disk) == Identity(NEW, OURS)


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_an_archive_that_stopped_anywhere_is_finished_later(choose: Chooser) -> None:
    folder = ARCHIVE.argument
    for operations in range(1, 100):
        disk = foreign(choose)
        disk_decision.write(disk, ARCHIVE)
        disk.crash_at = disk.operations + operations
        with contextlib.suppress(PowerCut):
            finish(disk)
            break
        disk = disk.crash()
        finish(disk)
        disk = disk.crash()
        assert [each.name for each in disk.list("")] == [folder, "gantry"]
        assert list(disk.list("gantry")) == []
        assert atomic_file.content(disk, f"{folder}/gantry/identity", 1 << 10) is not None
        assert atomic_file.content(disk, f"{folder}/gantry/decision", 1 << 10) is not None
    assert operations > 5


def test_an_archive_does_not_need_an_identity_that_can_be_read() -> None:
    disk = foreign()
    atomic_file.replace(disk, identity.PATH, b"damaged")
    disk_decision.write(disk, ARCHIVE)
    finish(disk)
    assert identity.read(disk) is None


def test_a_decision_that_is_dropped_is_not_carried_out() -> None:
    disk = foreign()
    disk_decision.write(disk, ARCHIVE)
    disk_decision.drop(disk)
    finish(disk)
    assert identity.read(disk) == Identity(DISK, THEIRS)


def test_a_disk_that_refuses_leaves_the_decision_for_the_next_start() -> None:
    disk = foreign()
    disk_decision.write(disk, ADOPT)
    disk.fail("rename")
    with pytest.raises(DiskError):
        finish(disk)
    assert disk_decision.read(disk) == ADOPT
