"""Whole members: what ends no reign, and what must."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.electing import Group, Node
from gantrymq.fakes.store import SETTINGS
from gantrymq.ha.in_sync import PROGRESS_SECONDS
from gantrymq.ha.lease import NOBODY, Wishes
from gantrymq.ha.phase import Phase
from gantrymq.store.settings import FlushDiskType


def well(*numbers: int, flushes: bool = False) -> Group:
    flush = FlushDiskType.SYNC_FLUSH if flushes else FlushDiskType.ASYNC_FLUSH
    group = Group(*numbers, settings=replace(SETTINGS, flush_disk_type=flush))
    group.until("well")
    for number in range(5):
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


def others(group: Group) -> list[Node]:
    return [each for each in group.nodes.values() if each is not group.master]


def ended(group: Group) -> Node:
    """The master, whose process was killed."""
    master = group.master
    assert master is not None
    master.kill()
    return master


@pytest.mark.parametrize("why", ["fenced", "without the lease store"])
def test_a_master_that_is_back_waits_for_nobody_who_has_as_much(why: str) -> None:
    group = well(1, 2)
    switched_to(group, 2)
    send(group, 50)
    one, two = group.nodes[1], group.nodes[2]
    two.kill()
    group.run(0.1)
    if why == "fenced":
        assert group.lease.lease is not None
        group.lease.edit(replace(group.lease.lease, fenced=frozenset({one.number})))
    else:
        group.off_lease.add(one.number)
    two.start()
    group.run(3.0)
    assert group.master is two, group.story()


def switched_to(group: Group, number: int) -> None:
    lease = group.lease.lease
    assert lease is not None
    group.lease.edit(replace(lease, wishes=Wishes(switch_to=number, number=1)))
    limit = group.now + 5.0
    while lease.holder != number or not group.is_well():
        group.run(0.05)
        lease = group.lease.lease
        assert lease is not None
        assert group.now < limit, group.story()


def test_a_disk_that_stalls_while_the_lease_store_is_gone_moves_the_role_all_the_same() -> None:
    group = well(1, 2, flushes=True)
    old = group.master
    assert old is not None
    group.lease.is_gone = True
    group.run(1.5)
    old.is_stuck = True
    old.put(100)
    group.run(2.2)
    group.lease.is_gone = False
    group.run(10.0)
    assert group.master not in (old, None), group.story()


def test_who_comes_back_during_an_outage_ends_no_reign() -> None:
    group = well(1, 2, 3)
    master, other = group.master, others(group)[-1]
    assert master is not None
    master.roles.said["big"] = bytes(300_000)  # so that a question comes a while after the welcome
    group.run(1.5)
    other.kill()
    group.until("well")
    group.lease.is_gone = True
    group.run(10.0)
    group.bytes_a_step[other.number] = 1 << 16
    other.start()
    group.run(5.0)
    assert group.master is master, group.story()


@pytest.mark.parametrize("seconds", [0.3, 0.5, 0.9])
def test_who_knows_of_the_new_epoch_before_its_master_does_is_no_obstacle(seconds: float) -> None:
    group = well(1, 2, 3)
    group.write_answers_late = seconds
    group.run(3.0)
    epoch = ended(group).member.epoch
    group.until("led")
    group.run(3.0)
    master = group.master
    assert master is not None
    assert master.member.epoch == epoch + 1


def test_who_is_to_end_while_it_seeks_the_lease_hands_it_over_or_gives_it_away() -> None:
    group = well(1, 2)
    group.write_answers_late = 0.3
    ended(group)
    (other,) = (each for each in group.nodes.values() if each.is_up)
    limit = group.now + 10.0
    while other.member.agent.phase is not Phase.SEEKING:
        group.run(0.02)
        assert group.now < limit, group.story()
    other.member.leave(group.now)
    group.run(3.0)
    assert other.member.is_released, group.story()
    assert group.lease.lease is not None
    assert group.lease.lease.holder == NOBODY


def test_whom_an_operator_fences_nobody_waits_for() -> None:
    group = well(1, 2, 3)
    fenced, lease = others(group)[-1], group.lease.lease
    assert lease is not None
    group.lease.edit(replace(lease, fenced=frozenset({fenced.number})))
    longest, last = 0.0, group.now
    for number in range(100, 300):
        send(group, number)
        longest, last = max(longest, group.now - last), group.now
    assert longest < PROGRESS_SECONDS / 2
    lease = group.lease.lease
    assert lease is not None
    assert fenced.number not in lease.in_sync
