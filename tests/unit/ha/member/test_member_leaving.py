"""Tests a member whose process ends: sends do not wait for it, and requests are passed on."""

from __future__ import annotations

from gantrymq.fakes.groups.electing import STEP, Group, Node
from gantrymq.ha.lease.lease import NO_MEMBER


def well() -> tuple[Group, Node]:
    group = Group(1, 2, 3)
    group.until("well")
    master = group.master
    assert master is not None
    return group, master


def test_a_master_stays_until_it_knows_its_successor() -> None:
    group, old = well()
    old.member.leave(group.now)
    for _ in range(200):
        group.run(STEP)
        if old.member.is_released:
            break
    new = group.master
    assert new is not None
    assert new is not old
    assert old.roles.master == f"m{new.number}:10911"


def test_a_master_that_left_does_not_come_back_into_the_set() -> None:
    group, old = well()
    old.member.leave(group.now)
    group.run(4.0)
    lease = group.lease.lease
    assert lease is not None
    assert lease.holder not in (0, old.number)
    assert lease.in_sync == set(group.numbers) - {old.number}


def test_acknowledgements_soon_stop_waiting_for_a_leaving_follower() -> None:
    group, master = well()
    other = next(each for each in group.nodes.values() if each is not master)
    other.member.leave(group.now)
    group.run(STEP * 6)
    assert other.member.is_released
    assert other.member.followed == ""
    lease = group.lease.lease
    assert lease is not None
    assert lease.holder == master.number
    assert lease.in_sync == set(group.numbers) - {other.number}


def test_sends_go_on_while_a_follower_leaves() -> None:
    group, master = well()
    other = next(each for each in group.nodes.values() if each is not master)
    other.member.leave(group.now)
    for number in range(50):
        assert master.put(number)
        group.run(STEP * 3)
        assert len(master.acknowledged) >= number - 1
        if other.is_up and other.member.is_released:
            other.kill()
    assert not other.is_up


def test_leaving_follower_waits_one_second_for_a_master_that_cannot_write() -> None:
    group, master = well()
    other = next(each for each in group.nodes.values() if each is not master)
    group.off_lease.add(master.number)
    other.member.leave(group.now)
    group.run(0.8)
    assert not other.member.is_released
    assert master.put(1)
    group.run(0.1)
    assert master.acknowledged == [1], "it counts, and has it"
    group.run(0.2)
    assert other.member.is_released


def test_successor_has_the_last_tables() -> None:
    group, old = well()
    group.run(1.0)
    old.roles.said = {"offsets": b"new"}
    old.member.leave(group.now)
    group.run(1.0)
    new = group.master
    assert new is not None
    assert new is not old
    assert new.roles.taken == {"offsets": b"new"}


def test_unstored_tables_delay_a_hand_over_only_briefly() -> None:
    group, old = well()
    for node in group.nodes.values():
        node.roles.unstored = {"offsets"}
    old.roles.said = {"offsets": b"new"}
    old.member.leave(group.now)
    group.run(0.3)
    assert old.is_master
    group.run(0.7)
    assert group.master not in (None, old)


def test_leaving_member_is_not_a_successor() -> None:
    group, old = well()
    leaving, staying = (each for each in group.nodes.values() if each is not old)
    group.off_lease.add(leaving.number)  # so that it stays for a while
    leaving.member.leave(group.now)
    group.run(STEP)
    old.member.leave(group.now)
    group.run(1.0)
    assert group.master is staying


def test_member_that_left_and_returns_is_in_sync_again() -> None:
    group, master = well()
    other = next(each for each in group.nodes.values() if each is not master)
    other.member.leave(group.now)
    group.run(STEP * 6)
    other.kill()
    other.start()
    group.until("well")


def test_all_members_that_leave_at_once_are_released() -> None:
    group, _ = well()
    for node in group.nodes.values():
        node.member.leave(group.now)
    limit = group.now + 2.0
    while any(node.is_up for node in group.nodes.values()):
        group.run(0.02)
        assert group.now < limit, group.story()
        for node in group.nodes.values():
            if node.is_up and node.member.is_released:
                node.kill()
    lease = group.lease.lease
    assert lease is not None
    assert lease.holder == NO_MEMBER
