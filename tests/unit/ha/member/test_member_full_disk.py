"""Tests members with full disks: a member that can accept messages leads, if there is one."""

from __future__ import annotations

from typing import Final

from gantrymq.fakes.groups.electing import STEP, Group, Node
from gantrymq.testing.memory_disk import BLOCK_BYTES

ROOM: Final = 1 << 30
FILLER: Final = "of-others"


def well() -> tuple[Group, Node]:
    group = Group(1, 2, 3)
    group.until("well")
    master = group.master
    assert master is not None
    return group, master


def fill(node: Node) -> None:
    """Not a block is left."""
    file = node.disk.create(FILLER)
    file.allocate(0, node.disk.memory.storage.free_bytes // BLOCK_BYTES * BLOCK_BYTES)
    file.close()


def put_on(group: Group, seconds: float, first: int) -> int:
    """Sends a message to the master every few steps; returns the number of the next one."""
    until = group.now + seconds
    while group.now < until:
        if group.master is not None and group.master.put(first):
            first += 1
        group.run(3 * STEP)
    return first


def test_a_master_that_is_full_hands_over_at_once() -> None:
    group, full = well()
    fill(full)
    began = group.now
    first = put_on(group, 1.5, 0)
    assert first > 0
    new = group.master
    assert new is not None
    assert new is not full
    assert new.acknowledged, group.story()
    assert group.now - began < 2.0


def test_it_is_a_follower_again_once_it_has_room() -> None:
    group, full = well()
    fill(full)
    first = put_on(group, 6.0, 0)
    full.disk.memory.total_bytes += ROOM
    group.until("well")
    put_on(group, 0.2, first)
    master = group.master
    assert master is not None
    group.run(1.0)
    assert full.bodies() == master.bodies()


def test_where_all_are_full_the_master_stays_and_can_be_read() -> None:
    group, _ = well()
    put_on(group, 0.5, 0)
    for node in group.nodes.values():
        fill(node)
    first = put_on(group, 5.0, 1000)
    masters = set()
    for _ in range(20):
        first = put_on(group, 1.0, first)
        assert group.master is not None, group.story()
        masters.add((group.master.number, group.master.member.epoch))
        now = group.now
        assert now < group.master.member.lease_deadline(now)
    assert len(masters) == 1, "the role goes round"
    assert group.master is not None
    assert 0 in group.master.bodies()


def test_first_member_with_free_space_becomes_master() -> None:
    group, _ = well()
    for node in group.nodes.values():
        fill(node)
    first = put_on(group, 8.0, 0)
    master = group.master
    assert master is not None
    lease = group.lease.lease
    assert lease is not None
    other = next(group.nodes[each] for each in lease.in_sync if each != master.number)
    other.disk.memory.total_bytes += ROOM
    put_on(group, 8.0, first)
    assert group.master is other, group.story()
    assert other.acknowledged


def test_where_all_are_full_and_the_master_dies_another_one_can_be_read() -> None:
    group, _ = well()
    put_on(group, 0.5, 0)
    for node in group.nodes.values():
        fill(node)
    put_on(group, 8.0, 1000)
    assert group.master is not None
    group.master.kill()
    group.until("master", 15.0)
    assert group.master is not None
    assert 0 in group.master.bodies()
