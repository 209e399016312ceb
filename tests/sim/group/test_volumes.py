"""Volumes that lie: what they say that they have, and how long they do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.ha.member import persistent_state
from gantrymq.ha.member.persistent_state import PersistentState
from gantrymq.sim.nodes.group_volumes import Volume, blank
from gantrymq.store.layout import OWN
from gantrymq.testing.faulty_disk import Faults
from gantrymq.testing.unsynced import lose_all

OLD, NEW, LAST = (PersistentState(epoch, "boot") for epoch in (1, 2, 3))


def lying() -> Volume:
    """A volume that says that it has the new state, and has the old one."""
    volume = blank(1, lose_all, 0)
    volume.disk.make_folder(OWN)
    volume.disk.sync_folder("")
    persistent_state.write(volume.disk, OLD)
    volume.befall(Faults(lost_sync=1000))
    persistent_state.write(volume.disk, NEW)
    return volume


def lose_power(volume: Volume) -> None:
    volume.crash()


def test_a_loss_of_power_shows_what_a_lying_disk_has() -> None:
    volume = lying()
    assert volume.crash()
    assert persistent_state.read(volume.disk) == OLD
    assert volume.is_damaged


def test_a_disk_that_is_unmounted_in_order_writes_what_it_said_it_had() -> None:
    volume = lying()
    volume.unmount()
    assert persistent_state.read(volume.disk) == NEW
    assert not volume.is_damaged


@pytest.mark.parametrize("end", [lose_power, Volume.unmount])
def test_a_disk_lies_no_more_once_that_could_have_come_out(end: Callable[[Volume], None]) -> None:
    """Its next loss of power takes nothing that was synced, and is that of any disk."""
    volume = lying()
    end(volume)
    persistent_state.write(volume.disk, LAST)
    assert not volume.crash()
    assert persistent_state.read(volume.disk) == LAST
