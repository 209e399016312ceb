"""Tests which events end the epoch of a master, with whole members."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.groups.electing import Group, Node
from gantrymq.fakes.stores.store import SETTINGS
from gantrymq.ha.election.in_sync_replicas import PROGRESS_SECONDS
from gantrymq.ha.election.phase import Phase
from gantrymq.ha.lease.lease import NO_MEMBER, OperatorRequests
from gantrymq.store.settings import FlushDiskType
from gantrymq.testing.unsynced import lose_all


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
def test_returning_master_does_not_wait_for_equal_logs(why: str) -> None:
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
    group.lease.edit(replace(lease, operator_requests=OperatorRequests(switch_to=number, number=1)))
    limit = group.now + 5.0
    while lease.holder != number or not group.is_well():
        group.run(0.05)
        lease = group.lease.lease
        assert lease is not None
        assert group.now < limit, group.story()


def test_master_whose_disk_stalls_during_an_outage_hands_over() -> None:
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


def test_member_that_returns_during_an_outage_does_not_depose_the_master() -> None:
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
def test_member_that_learns_of_an_epoch_before_its_master_does_not_depose_it(
    seconds: float,
) -> None:
    group = well(1, 2, 3)
    group.write_answers_late = seconds
    group.run(3.0)
    epoch = ended(group).member.epoch
    group.until("led")
    group.run(3.0)
    master = group.master
    assert master is not None
    assert master.member.epoch == epoch + 1


def test_member_that_leaves_while_it_seeks_hands_over_or_releases_the_lease() -> None:
    group = well(1, 2)
    group.write_answers_late = 0.3
    ended(group)
    (other,) = (each for each in group.nodes.values() if each.is_up)
    limit = group.now + 10.0
    while other.member.elector.phase is not Phase.SEEKING:
        group.run(0.02)
        assert group.now < limit, group.story()
    other.member.leave(group.now)
    group.run(3.0)
    assert other.member.is_released, group.story()
    assert group.lease.lease is not None
    assert group.lease.lease.holder == NO_MEMBER


# ---------------------------------------------------------------------- machines that go down


def unsynced(*numbers: int) -> Group:
    """All members have what was acknowledged; by itself no disk would for a long time."""
    settings = replace(SETTINGS, flush_commit_log_thorough_interval=3_600_000)
    group = Group(*numbers, settings=settings)
    group.until("well")
    for number in range(5):
        send(group, number)
    return group


def whole_again_without(group: Group, down: Node) -> None:
    """Its machine went down, and with it all that was not synced; then all members are there again:
    nothing is lost."""
    down.disk.choose = lose_all
    down.lose_power()
    group.parted.clear()
    for node in group.nodes.values():
        if not node.is_up:
            node.start()
    group.until("well")
    assert group.master is not None
    assert group.master.bodies() == list(range(5)), group.story()


def test_power_failure_loses_nothing_that_only_removed_members_have() -> None:
    group = unsynced(1, 2, 3)
    master = group.master
    assert master is not None
    group.parted = {frozenset({master.number, each.number}) for each in others(group)}
    group.run(PROGRESS_SECONDS + 1.0)
    assert group.lease.lease is not None
    assert group.lease.lease.in_sync == {master.number}
    whole_again_without(group, master)


def test_power_failure_of_a_new_master_without_followers_loses_nothing() -> None:
    group = unsynced(1, 2, 3)
    old = ended(group)
    group.parted = {frozenset({1, 2}), frozenset({1, 3}), frozenset({2, 3})}
    group.until("led")
    new = group.master
    assert new is not None
    assert new is not old
    whole_again_without(group, new)


def test_acknowledged_messages_are_on_the_masters_disk_while_isr_shrinks() -> None:
    group = unsynced(1, 2)
    master, (other,), lease = group.master, others(group), group.lease.lease
    assert master is not None
    assert lease is not None
    group.write_answers_late = 1.0
    group.lease.edit(replace(lease, fenced=frozenset({other.number})))
    while len(group.lease.writes[-1].in_sync) == 2:
        group.run(0.02)
        assert group.now < 200.0, group.story()
    master.is_stuck = True
    assert master.put(5)
    group.run(0.5)
    assert other.bodies() == list(range(6))
    assert 5 not in master.acknowledged
    master.is_stuck = False
    group.run(0.1)
    assert 5 in master.acknowledged
    assert master.member.elector.in_sync is not None
    assert master.member.elector.in_sync.is_shrinking, "it is not known yet whether it was"


def test_leaving_follower_is_removed_while_sends_continue() -> None:
    group = unsynced(1, 2, 3)
    master, leaver = group.master, others(group)[0]
    assert master is not None
    leaver.member.leave(group.now)
    for step in range(20):
        master.is_stuck = step % 4 != 0  # a sync takes longer than until there is more
        assert master.put(100 + step)
        group.run(0.02)
    assert group.lease.lease is not None
    assert leaver.number not in group.lease.lease.in_sync
    assert leaver.is_up


def test_power_failure_of_a_successor_that_never_led_loses_nothing() -> None:
    group = unsynced(1, 2)
    old, (successor,) = group.master, others(group)
    assert old is not None
    group.off_lease.add(successor.number)
    old.member.leave(group.now)
    while not old.member.is_released and group.now < 200.0:
        group.run(0.02)
    assert group.lease.lease is not None
    assert group.lease.lease.successor == successor.number
    old.kill()
    group.off_lease.clear()
    whole_again_without(group, successor)


def test_fenced_member_is_not_waited_for() -> None:
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
