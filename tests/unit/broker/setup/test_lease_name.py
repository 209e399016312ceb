"""The Lease of a group has a name of its own, and keeps the one that it has."""

from __future__ import annotations

import pytest

from gantrymq.broker.setup.lease_name import default_name, note, places, plain_name
from gantrymq.ha.lease.lease_object import ObjectName
from gantrymq.ha.member import persistent_state
from gantrymq.ha.member.persistent_state import PersistentState
from gantrymq.testing.faulty_disk import FaultyDisk

NOW = ObjectName("mq", default_name("main", "broker-a"))
FORMER = ObjectName("mq", plain_name("main", "broker-a"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a-b", "c"), ("a", "b-c")),
        (("Main", "a"), ("main", "a")),
        (("a", "B"), ("A", "b")),
        (("a", "b-c"), ("a", "B-c")),
        (("a b", "c"), ("a", "b c")),
    ],
)
def test_names_that_look_alike_give_different_leases(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert default_name(*one) != default_name(*other)
    assert default_name(*one) == default_name(*one)


def test_a_name_that_no_others_give_stays_plain() -> None:
    assert default_name("main", "a") == plain_name("main", "a") == "main-a"


def test_a_new_disk_goes_by_which_lease_exists() -> None:
    assert places(FaultyDisk(), NOW, FORMER) == (NOW, FORMER)
    assert places(FaultyDisk(), NOW, None) == (NOW, None)


def test_a_disk_of_an_earlier_version_keeps_the_plain_name() -> None:
    disk = FaultyDisk()
    persistent_state.write(disk, PersistentState(epoch=3, boot="b"))
    assert places(disk, NOW, FORMER) == (FORMER, None)


@pytest.mark.parametrize("place", [NOW, FORMER])
def test_settled_lease_name_stays_in_each_epoch(place: ObjectName) -> None:
    disk = FaultyDisk()
    note(disk, place)
    assert places(disk, NOW, FORMER) == (place, None)
    persistent_state.write(disk, PersistentState(epoch=3, boot="b"))
    assert places(disk.crash(), NOW, FORMER) == (place, None)


def test_a_name_of_other_settings_is_not_gone_by() -> None:
    disk = FaultyDisk()
    note(disk, ObjectName("mq", "renamed-a"))
    assert places(disk, NOW, FORMER) == (NOW, FORMER)
