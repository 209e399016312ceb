"""What a member knows of its log, over starts of its process and of its machine."""

from __future__ import annotations

import pytest

from gantrymq.base.disk import DiskError
from gantrymq.fakes.stores.store import OpenedStore
from gantrymq.ha.disk import epoch_file
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.member import persistent_state
from gantrymq.ha.member.replica_state import ReplicaState, note_doubtful_log
from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.log_truncation import TruncationRequest
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import BLOCK_BYTES


def killed() -> FaultyDisk:
    """The disk of a member that has seen an epoch, and whose machine lost its power."""
    disk = FaultyDisk()
    opened = OpenedStore(disk, is_copy=True)
    ReplicaState(disk, opened.store, "first boot").see(1)
    return disk.crash()


def test_log_that_lost_its_end_is_incomplete() -> None:
    disk = killed()
    assert not ReplicaState(disk, OpenedStore(disk, is_copy=True).store, "next").is_electable


def test_clean_stop_does_not_complete_a_log_after_a_crash() -> None:
    disk = killed()
    opened = OpenedStore(disk, is_copy=True)
    ReplicaState(disk, opened.store, "next")
    opened.close()
    disk = disk.kill()
    again = OpenedStore(disk, is_copy=True)
    assert again.store.report.is_clean
    assert not ReplicaState(disk, again.store, "next").is_electable


def test_new_disk_is_incomplete_once_it_learns_of_an_epoch() -> None:
    disk = FaultyDisk()
    replica_state = ReplicaState(disk, OpenedStore(disk, is_copy=True).store, "boot")
    before = replica_state.is_electable
    replica_state.see(3)
    then = replica_state.is_electable
    replica_state.caught_up()
    replica_state.see(4)
    assert (before, then, replica_state.is_electable) == (True, False, True)


def test_catching_up_or_leading_completes_the_log() -> None:
    for become_whole in (ReplicaState.caught_up, lambda replica_state: replica_state.begin(2)):
        disk = killed()
        replica_state = ReplicaState(disk, OpenedStore(disk, is_copy=True).store, "next")
        become_whole(replica_state)
        assert replica_state.is_electable
        disk = disk.kill()
        assert ReplicaState(disk, OpenedStore(disk, is_copy=True).store, "next").is_electable


def test_reboot_after_a_clean_stop_loses_nothing() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk, is_copy=True)
    replica_state = ReplicaState(disk, opened.store, "first boot")
    replica_state.see(1)
    replica_state.caught_up()
    opened.close()
    disk = disk.crash()
    assert ReplicaState(disk, OpenedStore(disk, is_copy=True).store, "next").is_electable


def with_a_doubtful_end() -> tuple[FaultyDisk, int]:
    """The disk of a member whose machine crashed before the last of two messages was surely on it,
    and the position where that message begins."""
    disk = FaultyDisk()
    opened = OpenedStore(disk)
    ReplicaState(disk, opened.store, "first boot").begin(1)
    opened.put(1)
    opened.turn()
    opened.close()
    disk = disk.kill()
    opened = OpenedStore(disk)
    start = opened.store.log.end
    opened.put(2)
    opened.turn()
    return disk.crash(), start


def test_unflushed_part_of_the_log_is_doubtful_after_a_machine_crash() -> None:
    disk, start = with_a_doubtful_end()
    opened = OpenedStore(disk, is_copy=True)
    assert opened.store.log.end > start
    replica_state = ReplicaState(disk, opened.store, "next")
    assert replica_state.sure_end == replica_state.member_report().sure_to == start


def test_log_stays_doubtful_over_starts_until_it_is_truncated() -> None:
    disk, start = with_a_doubtful_end()
    opened = OpenedStore(disk, is_copy=True)
    ReplicaState(disk, opened.store, "next")
    opened.close()
    disk = disk.kill()
    replica_state = ReplicaState(disk, OpenedStore(disk, is_copy=True).store, "next")
    assert replica_state.sure_end == start
    replica_state.cut(start)
    disk = disk.kill()
    opened = OpenedStore(disk, is_copy=True)
    assert opened.store.log.end == start
    assert ReplicaState(disk, opened.store, "next").member_report().sure_to is None


def test_log_stays_doubtful_after_a_failed_start() -> None:
    disk, start = with_a_doubtful_end()
    note_doubtful_log(disk, "next")
    assert OpenedStore(disk, is_copy=True).store.log.end > start
    disk = disk.kill()
    note_doubtful_log(disk, "next")
    replica_state = ReplicaState(disk, OpenedStore(disk, is_copy=True).store, "next")
    assert replica_state.sure_end == start
    assert not replica_state.is_electable


def test_nothing_is_doubtful_behind_a_clean_stop_or_a_kill() -> None:
    for boot, end in (("next", OpenedStore.close), ("first boot", OpenedStore.turn)):
        disk = FaultyDisk()
        opened = OpenedStore(disk)
        ReplicaState(disk, opened.store, "first boot").begin(1)
        opened.put(1)
        opened.turn()
        end(opened)
        disk = disk.kill()
        note_doubtful_log(disk, boot)
        again = OpenedStore(disk, is_copy=True)
        assert ReplicaState(disk, again.store, boot).member_report().sure_to is None


def test_state_is_recorded_on_a_full_disk() -> None:
    disk, start = with_a_doubtful_end()
    memory = disk.memory
    memory.total_bytes -= memory.storage.free_bytes // BLOCK_BYTES * BLOCK_BYTES
    note_doubtful_log(disk, "next")
    assert persistent_state.read(disk).sure_to == start


def test_log_stays_doubtful_until_it_was_compared_with_a_master() -> None:
    disk, start = with_a_doubtful_end()
    opened = OpenedStore(disk, is_copy=True)
    replica_state = ReplicaState(disk, opened.store, "next")
    replica_state.compared(start + 10)
    assert replica_state.sure_end == start + 10
    assert ReplicaState(disk, opened.store, "next").sure_end == start
    replica_state.compared(opened.store.log.end)
    assert ReplicaState(disk, opened.store, "next").member_report().sure_to is None


def test_it_is_not_forgotten_before_its_epoch_is_on_the_disk() -> None:
    disk, start = with_a_doubtful_end()
    replica_state = ReplicaState(disk, OpenedStore(disk, is_copy=True).store, "next")
    disk.fail("rename", path=f"{epoch_file.PATH}.new")
    with pytest.raises(DiskError):
        replica_state.begin(2)
    disk = disk.kill()
    again = ReplicaState(disk, OpenedStore(disk, is_copy=True).store, "next")
    assert again.sure_end == start
    assert not again.is_electable


def test_truncation_does_not_verify_what_lies_below() -> None:
    disk = FaultyDisk()
    opened = OpenedStore(disk)
    ReplicaState(disk, opened.store, "first boot").begin(1)
    start = opened.store.log.end
    ends = []
    for number in (1, 2):
        opened.put(number)
        opened.turn()
        ends.append(opened.store.log.end)
    log_truncation.request(disk, TruncationRequest(ends[0]))
    disk = disk.crash()
    opened = OpenedStore(disk, is_copy=True)
    assert opened.store.log.end == ends[0]
    assert ReplicaState(disk, opened.store, "next").sure_end == start


def test_master_with_a_doubtful_part_begins_its_epoch_with_it() -> None:
    disk, start = with_a_doubtful_end()
    opened = OpenedStore(disk, is_copy=True)
    replica_state = ReplicaState(disk, opened.store, "next")
    replica_state.begin(2)
    assert replica_state.member_report().epochs == (Epoch(1, 0), Epoch(2, start))
    assert replica_state.member_report().sure_to is None
