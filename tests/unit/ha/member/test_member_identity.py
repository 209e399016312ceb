"""Tests foreign disks, new disks at old seats, and Leases that people edited.

No acknowledged message is lost, and a group that can have a master has one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.groups.electing import Group, Node
from gantrymq.ha.disk import identity
from gantrymq.ha.lease import lease_copy
from gantrymq.ha.lease.lease import DURATION_SECONDS, Lease, OperatorRequests
from gantrymq.testing.faulty_disk import FaultyDisk

ALL = frozenset({1, 2, 3})


def well(*numbers: int, messages: int = 5) -> Group:
    group = Group(*numbers)
    group.until("well")
    for number in range(messages):
        send(group, number)
    return group


def send(group: Group, number: int) -> None:
    """Acknowledged when this returns."""
    master = group.master
    assert master is not None
    assert master.put(number)
    limit = group.now + 5.0
    while number not in master.acknowledged:
        group.run(0.02)
        assert group.now < limit, group.story()


def lease_of(group: Group) -> Lease:
    lease = group.lease.lease
    assert lease is not None
    return lease


def has_master(group: Group) -> bool:
    return group.master is not None


def mount(node: Node, disk: FaultyDisk) -> None:
    """Its process ends, and its next life has this disk."""
    node.kill()
    node.disk = disk
    node.start()


def older_group(epochs: int) -> Group:
    """Which had so many masters, and messages of its own."""
    group = well(1, 2, 3, messages=0)
    for epoch in range(2, epochs + 1):
        requests = OperatorRequests(switch_to=epoch % 3 + 1, number=epoch)
        group.lease.edit(replace(lease_of(group), operator_requests=requests))
        group.run(3.0)
        group.until("well")
    for number in range(100, 105):
        send(group, number)
    group.run(1.0)
    return group


# ---------------------------------------------------------------------- identity


def test_lease_and_disks_name_the_group_and_each_other() -> None:
    group = well(1, 2, 3)
    group.run(1.5)  # until all have read what the master wrote
    lease = lease_of(group)
    for number, node in group.nodes.items():
        known = identity.read(node.disk)
        assert known is not None
        assert (known.group, known.disk) == (lease.group, lease.disks[number])
        copy = lease_copy.read(node.disk)
        assert copy is not None
        assert (copy.epoch, copy.in_sync, copy.disks) == (1, ALL, lease.disks)


def test_a_disk_of_another_group_neither_leads_nor_is_touched() -> None:
    """Its epochs are higher and its log is longer: by them it would be master."""
    older = older_group(epochs=4)
    assert lease_of(older).epoch >= 4
    foreign = older.nodes[3].disk.kill()
    group = well(1, 2, 3)
    master = group.master
    assert master is not None
    node = next(each for each in group.nodes.values() if not each.is_master)
    mount(node, foreign)
    group.run(10.0)
    assert group.master is master, group.story()
    assert node.member.is_foreign
    assert "gantry store archive" in (node.member.context.foreign_reason() or "")
    assert node.bodies() == list(range(100, 105))
    assert lease_of(group).in_sync == ALL - {node.number}
    send(group, 5)
    assert master.bodies() == list(range(6))


def test_member_with_a_foreign_disk_does_not_lead_when_the_master_dies() -> None:
    foreign = older_group(epochs=4).nodes[3].disk.kill()
    group = well(1, 2, 3)
    mount(group.nodes[3], foreign)
    group.run(5.0)
    assert group.master is not None
    assert group.master.number != 3
    group.master.kill()
    group.until("master", 15.0)
    assert group.master.number != 3, group.story()
    assert group.master.bodies() == list(range(5))


def test_a_new_disk_follows_once_the_old_one_is_out_of_the_set() -> None:
    group = well(1, 2, 3)
    node = next(each for each in group.nodes.values() if not each.is_master)
    before = lease_of(group).disks[node.number]
    mount(node, FaultyDisk())
    group.run(0.5)
    assert lease_of(group).disks[node.number] == before
    group.run(4.0)
    group.until("well")
    assert lease_of(group).disks[node.number] not in ("", before)
    assert node.bodies() == list(range(5))


def test_a_new_disk_does_not_vote_for_the_old_one() -> None:
    """The set is {1, 2}. The master is gone, and member 2 has an empty disk: it may not lead, nor
    may the third member, which is not in the set."""
    group = well(1, 2, messages=0)
    for number in range(5):
        send(group, number)
    master = group.master
    assert master is not None
    other = next(each for each in group.nodes.values() if each is not master)
    master.kill()
    mount(other, FaultyDisk())
    group.run(30.0)
    assert not has_master(group), group.story()
    master.start()
    group.until("well", 15.0)
    assert group.master is not None
    assert group.master.bodies() == list(range(5))


# ---------------------------------------------------------------------- the lease


def test_master_creates_a_deleted_lease_again() -> None:
    group = well(1, 2, 3)
    master, before = group.master, lease_of(group)
    group.lease.lease = None
    group.run(2.5)
    after = lease_of(group)
    assert group.master is master, group.story()
    assert (after.holder, after.epoch, after.in_sync) == (before.holder, 1, ALL)
    assert (after.group, after.disks) == (before.group, before.disks)
    send(group, 5)


def test_master_overwrites_a_lease_that_was_set_back() -> None:
    group = well(1, 2, 3)
    group.nodes[3].kill()
    group.run(4.0)
    saved = lease_of(group)
    assert saved.in_sync == ALL - {3}
    group.nodes[3].start()
    group.until("well")
    master = group.master
    group.lease.edit(saved)
    group.run(2.5)
    assert group.master is master, group.story()
    assert lease_of(group).in_sync == ALL
    assert lease_of(group).untrusted_reason is None


def test_lease_that_was_set_back_elects_no_member_that_lacks_messages() -> None:
    """The master's machine goes down, and with it what it had not synced; the saved Lease says that
    the master alone has everything."""
    group = Group(1, 2, 3)
    group.until("well")
    master = group.master
    assert master is not None
    others = [each for each in group.nodes.values() if each is not master]
    for node in others:
        node.kill()
    group.run(4.0)
    saved = lease_of(group)
    assert saved.in_sync == {master.number}
    for node in others:
        node.start()
    group.until("well")
    master.is_stuck = True
    for number in range(5):
        send(group, number)
    group.lease.edit(saved)
    master.lose_power()
    master.is_stuck = False
    group.run(0.3)
    master.start()
    group.until("master", 30.0)
    assert group.master is not None
    assert group.master.bodies() == list(range(5)), group.story()


def test_annotating_the_lease_does_not_keep_a_dead_master() -> None:
    group = well(1, 2, 3)
    assert group.master is not None
    group.master.kill()
    died_at = group.now
    while not has_master(group):
        group.lease.edit(lease_of(group))
        group.run(0.5)
        assert group.now < died_at + DURATION_SECONDS + 4.0, group.story()


# ---------------------------------------------------------------------- an operator's word


@pytest.mark.parametrize("allows", [True, False])
def test_unclean_elections_help_the_last_of_the_set(allows: bool) -> None:
    """All lose their power, and the disk of one of the set is lost."""
    group = well(1, 2)
    for node in group.nodes.values():
        node.lose_power()
    requests = OperatorRequests(allows_unclean=allows)
    group.lease.edit(replace(lease_of(group), operator_requests=requests))
    group.nodes[2].start()
    group.run(40.0)
    assert (group.master is group.nodes[2]) == allows, group.story()
    assert any("may be lost" in each for each in group.nodes[2].words) == allows


@pytest.mark.parametrize("allows", [True, False])
def test_unclean_election_without_a_lease_and_with_a_missing_member(allows: bool) -> None:
    group = well(1, 2, 3)
    for node in group.nodes.values():
        node.kill()
    group.lease.lease = None
    group.nodes[1].start()
    group.nodes[2].start()
    group.run(18.0)
    assert group.master is None
    group.lease.edit(
        replace(lease_of(group), operator_requests=OperatorRequests(allows_unclean=allows))
    )
    group.run(30.0)
    assert (group.master is not None) == allows, group.story()
