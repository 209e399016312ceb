"""Tests whole members with real stores: all of them have what is acknowledged."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.fakes.groups.electing import Group
from gantrymq.fakes.groups.running_groups import ended, others, send, well
from gantrymq.ha.lease.lease import OperatorRequests
from gantrymq.store.commitlog.truncated_tails import list_tails


def test_three_members_find_a_master_and_a_set() -> None:
    group = Group(1, 2, 3)
    group.until("well")
    assert group.master is not None
    assert group.master.member.epoch == 1


def test_all_members_have_acknowledged_messages() -> None:
    group = Group(1, 2, 3)
    group.until("well")
    master = group.master
    assert master is not None
    for number in range(20):
        assert master.put(number)
        group.run(0.04)
    group.run(0.2)
    assert master.acknowledged == list(range(20))
    for node in group.nodes.values():
        assert node.bodies() == list(range(20))


# ---------------------------------------------------------------------- failover


def test_another_member_takes_over_and_has_everything() -> None:
    group = well(1, 2, 3)
    ended(group)
    before = group.now
    group.until("master", 6.0)
    assert group.now - before >= 3.0
    send(group, 5)
    for node in group.nodes.values():
        if node.is_up:
            assert node.bodies() == list(range(6))


def test_killed_member_returns_and_follows() -> None:
    group = well(1, 2, 3)
    old = ended(group)
    group.until("master")
    send(group, 5)
    old.start()
    group.until("well")
    send(group, 6)
    assert old.bodies() == list(range(7))
    assert not old.is_master


def test_a_master_that_comes_back_within_its_lease_goes_on_in_a_new_epoch() -> None:
    group = well(1, 2, 3)
    old = ended(group)
    old.start()
    group.until("master", 2.0)
    assert old.is_master
    assert old.member.epoch == 2
    group.until("well")
    send(group, 5)


def test_records_that_only_the_old_master_had_are_truncated_and_kept() -> None:
    group = well(1, 2, 3)
    old = group.master
    assert old is not None
    group.part(old.number)
    assert old.put(100)
    group.run(0.1)
    old.kill()
    group.parted.clear()
    group.until("master")
    send(group, 5)
    old.start()
    group.until("well")
    assert old.bodies() == list(range(6))
    assert 100 not in old.acknowledged
    assert any("truncating log" in word for word in old.words)
    (tail,) = list_tails(old.disk)
    assert tail.epoch == 2


# ---------------------------------------------------------------------- cut off


def test_a_master_that_is_cut_off_acknowledges_nothing_more() -> None:
    group = well(1, 2, 3)
    old = group.master
    assert old is not None
    group.part(old.number)
    group.off_lease.add(old.number)
    assert old.put(100)
    group.run(8.0)
    assert not old.is_master
    assert 100 not in old.acknowledged
    assert group.master not in (None, old)
    group.parted.clear()
    group.off_lease.clear()
    group.until("well")
    send(group, 5)
    assert old.bodies() == list(range(6))


def test_a_healthy_group_goes_on_without_the_lease_store() -> None:
    group = well(1, 2, 3)
    master = group.master
    group.lease.is_gone = True
    for number in range(5, 25):
        group.run(1.0)
        assert group.master is master
        send(group, number)


def test_lone_master_continues_only_while_all_configured_members_promise() -> None:
    group = well(1, 2, 3)
    master = group.master
    assert master is not None
    slaves = others(group)
    for each in slaves:
        each.kill()
    group.until("well")
    send(group, 5)
    group.lease.is_gone = True
    slaves[0].start()
    group.run(8.0)
    assert not master.is_master


def test_lost_slave_delays_sends_only_briefly() -> None:
    group = well(1, 2, 3)
    master = group.master
    assert master is not None
    others(group)[0].kill()
    assert master.put(5)
    before = group.now
    while 5 not in master.acknowledged:
        group.run(0.02)
    assert group.now - before <= 2.5
    group.until("well")


# ---------------------------------------------------------------------- giving it away


def test_a_switchover_takes_no_time_and_loses_nothing() -> None:
    group = well(1, 2, 3)
    old = group.master
    assert old is not None
    chosen = others(group)[-1]
    lease = group.lease.lease
    assert lease is not None
    group.lease.edit(
        replace(lease, operator_requests=OperatorRequests(switch_to=chosen.number, number=1))
    )
    while old.is_master:
        group.run(0.02)
    before = group.now
    group.until("master")
    assert group.master is chosen
    assert group.now - before <= 1.0
    group.until("well")
    send(group, 5)
    assert old.bodies() == list(range(6))
    assert not any("truncating log" in word for word in old.words)


def test_former_master_soon_learns_the_address_of_the_new_one() -> None:
    group = well(1, 2, 3)
    for number in range(1, 9):
        old = group.master
        assert old is not None
        chosen, lease = others(group)[-1], group.lease.lease
        assert lease is not None
        group.run(0.1 * number)
        group.lease.edit(
            replace(
                lease, operator_requests=OperatorRequests(switch_to=chosen.number, number=number)
            )
        )
        while group.master is not chosen:
            group.run(0.02)
        before = group.now
        while old.roles.master != f"m{chosen.number}:10911":
            group.run(0.02)
        assert group.now - before <= 0.3
        group.until("well")


def test_leaving_master_hands_over() -> None:
    group = well(1, 2, 3)
    old = group.master
    assert old is not None
    old.member.leave(group.now)
    before = group.now
    while not old.member.is_released or group.master is None:
        group.run(0.02)
    assert group.now - before <= 1.5
    send(group, 5)


# ---------------------------------------------------------------------- tables


def test_tables_travel_with_the_log() -> None:
    group = well(1, 2, 3)
    master = group.master
    assert master is not None
    master.roles.said["offsets"] = b"17"
    group.run(1.5)
    for each in others(group):
        assert each.roles.taken == {"offsets": b"17"}
    master.roles.said["offsets"] = b"18"
    group.run(1.5)
    for each in others(group):
        assert each.roles.taken == {"offsets": b"18"}


def test_followers_know_where_the_master_takes_requests() -> None:
    group = well(1, 2, 3)
    master = group.master
    assert master is not None
    assert {each.roles.master for each in others(group)} == {f"m{master.number}:10911"}


def test_what_was_parked_waits_for_the_others_however_soon_it_is_written() -> None:
    group = well(1, 2, 3)
    old = group.master
    assert old is not None
    for each in others(group):
        each.roles.parked = [100, 101]
    old.kill()
    group.until("led")
    new = group.master
    assert new is not None
    assert not new.roles.told
    assert new.opened.store.safe is not None
    assert new.opened.store.safe < new.opened.store.log.end
    old.start()
    group.until("well")
    group.run(0.2)
    assert all(node.bodies() == new.bodies() for node in group.nodes.values())
    assert new.bodies()[-2:] == [100, 101]
