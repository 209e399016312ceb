"""What must be true of groups, held against logs that are made up."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from gantrymq.ha.lease.lease import Lease
from gantrymq.sim.checks.group_check_scene import (
    SIZE,
    Broker,
    Scene,
    acknowledged_by_both,
    replaced,
)
from gantrymq.sim.nodes.group_volumes import FOREIGN, TWIN


def test_what_all_of_the_set_have_may_be_acknowledged() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a", b"b")
    scene.acknowledge(0, 0)
    scene.acknowledge(0, 1)
    assert scene.world.tally["acknowledged"] == 2


def test_a_message_that_one_of_the_set_lacks_may_not() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a")
    scene.acknowledge(0, 0)
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.acknowledge(0, 1)


def test_nor_one_where_the_set_is_too_small() -> None:
    scene = Scene()
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1})))
    scene.log(1, b"a")
    with pytest.raises(AssertionError, match="in sync"):
        scene.acknowledge(0, 0)


def test_member_that_lacks_a_promise_does_not_join_the_set() -> None:
    scene = Scene()
    scene.log(1, b"a")
    scene.log(2, b"a")
    scene.acknowledge(0, 0)
    with pytest.raises(AssertionError, match="member 3 lacks"):
        scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2, 3})))


def test_a_master_of_an_earlier_epoch_acknowledges_nothing() -> None:
    scene = Scene()
    scene.log(1, b"a")
    scene.log(2, b"a")
    scene.lead(1, 2)
    with pytest.raises(AssertionError, match="epoch 2 has begun"):
        scene.acknowledge(0, 0)


def test_a_new_master_has_all_promises() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a", b"b")
    scene.acknowledge(0, 1)
    scene.log(2, b"a", b"other")
    with pytest.raises(AssertionError, match="leads epoch 2 without"):
        scene.lead(1, 2)


def test_what_was_decided_with_too_small_a_set_is_no_promise_when_the_set_has_grown() -> None:
    scene = Scene()
    scene.log(1, b"a")
    scene.log(2, b"a")
    scene.brokers[0].decided = Lease(holder=1, epoch=1, in_sync=frozenset({1}))
    with pytest.raises(AssertionError, match="in sync"):
        scene.acknowledge(0, 0)


def test_member_of_the_set_at_the_decision_must_have_it() -> None:
    scene = Scene()
    scene.log(1, b"a")
    scene.log(2, b"a")
    scene.brokers[0].decided = Lease(holder=1, epoch=1, in_sync=frozenset({1, 2, 3}))
    with pytest.raises(AssertionError, match="was decided, but member 3 lacks"):
        scene.acknowledge(0, 0)


def test_a_seat_counts_with_the_disk_that_the_lease_gives_to_it() -> None:
    scene = Scene()
    scene.checks.volumes = {"a" * 32: 2, "b" * 32: TWIN + 2}
    scene.log(1, b"a")
    scene.log(TWIN + 2, b"a")
    disks = {1: "1" * 32, 2: "a" * 32}
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2}), disks=disks))
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.acknowledge(0, 0)
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2}), disks=disks | {2: "b" * 32}))
    scene.acknowledge(0, 0)


def test_nor_is_another_disk_elected_in_a_seat_of_the_set() -> None:
    scene = Scene()
    scene.checks.volumes = {"a" * 32: 2, "b" * 32: TWIN + 2}
    scene.log(1, b"a")
    disks = {1: "1" * 32, 2: "a" * 32}
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2}), disks=disks))
    with pytest.raises(AssertionError, match="from outside"):
        scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2}), disks={2: "b" * 32}))


def test_the_volume_of_another_group_never_leads_and_is_never_written() -> None:
    scene = Scene()
    stranger = Broker(3, epoch=2, volume=FOREIGN + 3)
    with pytest.raises(AssertionError, match="another group leads"):
        scene.checks.leads(stranger, 2)
    scene.log(FOREIGN + 3, b"a")
    with pytest.raises(AssertionError, match="is copied to the volume of another group"):
        scene.checks.appended(stranger, scene.checks.mirror(FOREIGN + 3).records)


def test_an_epoch_that_no_member_has_written_is_not_known() -> None:
    scene = Scene()
    scene.brokers[0].epoch_seen = 1
    scene.checks.knows(scene.brokers[0])
    scene.leases.edit({"epoch": "999999999"})
    scene.brokers[0].epoch_seen = 999_999_999
    with pytest.raises(AssertionError, match="members have written 1"):
        scene.checks.knows(scene.brokers[0])


def test_a_master_whose_clocks_stood_still_may_believe_and_promises_nothing_new() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a", b"c")
    scene.lead(1, 2)
    scene.acknowledge(1, 0)
    old = scene.brokers[0]
    old.has_old_clock = True
    scene.checks.has_authority(old, 0.0)
    scene.acknowledge(0, 0)
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.acknowledge(0, 1)
    old.has_old_clock = False
    with pytest.raises(AssertionError, match="epoch 2 has begun"):
        scene.checks.has_authority(old, 0.0)


def test_a_start_finds_all_that_is_on_the_disk() -> None:
    scene = Scene()
    scene.log(2, b"a")
    gone = scene.checks.mirror(2).records
    scene.checks.reread(2, gone, was_cut=True)
    with pytest.raises(AssertionError, match="starts without 1 records"):
        scene.checks.reread(2, gone, was_cut=False)


def test_a_start_on_a_disk_that_lied_may_cut_the_log_as_one_of_a_replaced_disk_lacks_it() -> None:
    scene = acknowledged_by_both(flushes=True)
    gone = scene.checks.mirror(2).records
    scene.log(2)
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.checks.reread(2, gone, was_cut=True)
    scene.checks.reread(2, gone, was_cut=True, has_lied=True)


def test_member_without_a_master_since_a_loss_may_show_it_once_more() -> None:
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b", b"c")
    scene.lose(1, b"a", b"b")
    scene.lose(2, b"a", b"b")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    scene.lead(1, 2)
    scene.log(2, b"a", b"b", b"other")
    scene.read(1, 3)
    late = Broker(3, epoch_copied=1)
    scene.brokers.append(late)
    scene.read(2, 3)
    assert scene.world.tally["read what was lost"] == 1
    late.epoch_copied = 2
    with pytest.raises(AssertionError, match="the history has b'other'"):
        scene.read(2, 3)
    late.epoch_copied, late.epoch = 1, 1
    with pytest.raises(AssertionError, match="the history has b'other'"):
        scene.read(2, 3)


def test_nothing_is_appended_by_who_knows_a_later_epoch() -> None:
    scene = Scene()
    scene.log(1, b"a")
    new = scene.checks.mirror(1).records
    scene.brokers[0].epoch_seen = 1
    scene.checks.appended(scene.brokers[0], new)
    scene.brokers[0].epoch_seen = 2
    with pytest.raises(AssertionError, match="knows of 2"):
        scene.checks.appended(scene.brokers[0], new)


def test_only_members_of_the_set_are_elected() -> None:
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b", b"c")
    scene.log(2)
    with pytest.raises(AssertionError, match="from outside"):
        scene.write(Lease(holder=3, epoch=2, in_sync=frozenset({3})))


def test_member_with_all_promises_leads_when_no_disk_has_them() -> None:
    for key in (b"c", b"x"):
        scene = acknowledged_by_both()
        scene.log(3, b"a", b"b", key)
        for number in (1, 2):
            replaced(scene, number)
        has_all = key == b"c"
        with nullcontext() if has_all else pytest.raises(AssertionError, match="3 lacks b'c'"):
            scene.write(Lease(holder=3, epoch=2, in_sync=frozenset({3})))


def test_acknowledged_message_is_found_at_the_end() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.checks.whole(1, {b"a": 0, b"b": SIZE})
    with pytest.raises(AssertionError, match="nothing is there"):
        scene.checks.whole(1, {b"c": 2 * SIZE})
    with pytest.raises(AssertionError, match="is there"):
        scene.checks.whole(1, {b"c": SIZE})
