"""Tests that all members that may become master store tables before a change is confirmed."""

from __future__ import annotations

from gantrymq.fakes.groups.electing import Group, Node


def well() -> tuple[Group, Node, list[Node]]:
    group = Group(1, 2, 3)
    group.until("well")
    master = group.master
    assert master is not None
    return group, master, [each for each in group.nodes.values() if each is not master]


def test_tables_are_stored_once_all_in_sync_members_have_them_on_disk() -> None:
    group, master, (one, other) = well()
    other.roles.unstored = {"topics"}
    master.roles.said = {"offsets": b"1", "topics": b"2"}
    number = master.member.spread(group.now)
    assert master.member.lacking(number) == sorted(f"member {each.number}" for each in (one, other))
    group.run(1.0)
    assert one.roles.taken == other.roles.taken == master.roles.said
    assert master.member.lacking(number) == [f"member {other.number}"]
    other.roles.unstored.clear()
    group.run(0.6)
    assert master.member.lacking(number) == []


def test_unchanged_table_waits_for_no_further_member() -> None:
    group, master, (one, _) = well()
    master.roles.said = {"offsets": b"1"}
    number = master.member.spread(group.now)
    group.run(1.0)
    one.roles.unstored = {"topics"}
    assert master.member.spread(group.now) == number
    assert master.member.lacking(number) == []


def test_a_member_that_is_out_of_the_set_is_not_waited_for() -> None:
    group, master, (one, other) = well()
    one.kill()
    master.roles.said = {"topics": b"2"}
    number = master.member.spread(group.now)
    group.run(1.0)
    assert master.member.lacking(number) == [f"member {one.number}"]
    group.run(2.0)
    assert master.member.lacking(number) == []
    assert other.roles.taken == {"topics": b"2"}


def test_member_that_returns_to_isr_has_stored_the_confirmed_tables() -> None:
    group, master, (one, _) = well()
    one.kill()
    group.until("well")
    master.roles.said = {"topics": b"2"}
    number = master.member.spread(group.now)
    group.run(1.0)
    assert master.member.lacking(number) == []
    one.start()
    one.roles.unstored = {"topics"}
    group.run(3.0)
    lease = group.lease.lease
    assert lease is not None
    assert one.number not in lease.in_sync, group.story()
    assert one.roles.taken == {"topics": b"2"}
    one.roles.unstored.clear()
    group.until("well")


def test_member_that_joins_in_a_new_epoch_has_stored_the_existing_tables() -> None:
    group, master, (one, other) = well()
    one.kill()
    group.until("well")
    other.roles.said = {"topics": b"2"}
    master.kill()
    one.start()
    one.roles.unstored = {"topics"}
    group.run(12.0)
    lease = group.lease.lease
    assert lease is not None
    assert (lease.holder, lease.in_sync) == (other.number, frozenset({other.number})), group.story()
    one.roles.unstored.clear()
    group.until("well")


def test_former_master_loses_its_role_before_its_turn() -> None:
    group, master, _ = well()
    epoch, said = master.member.epoch, [master.member.has_lost_role]
    master.member.elector.step_down("a test says so", group.now)
    said.append(master.member.has_lost_role)
    group.step()
    said.append(master.member.has_lost_role)
    assert said == [False, True, False]
    assert master.member.epoch != epoch
