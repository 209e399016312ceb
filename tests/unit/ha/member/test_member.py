"""Tests whole members with real stores: all of them have what is acknowledged."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from gantrymq.fakes.groups.electing import Group, Node
from gantrymq.ha.lease.lease import OperatorRequests
from gantrymq.ha.member import incoming_link
from gantrymq.store.commitlog.truncated_tails import list_tails
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import Inode

FILE_BYTES: Final = 4096
LOG_FILE: Final = f"commitlog/{0:020d}"


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


def well(*numbers: int, messages: int = 5) -> Group:
    """A group in which all have these messages."""
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


def others(group: Group) -> list[Node]:
    return [each for each in group.nodes.values() if each is not group.master]


def ended(group: Group) -> Node:
    """The master, whose process was killed."""
    master = group.master
    assert master is not None
    master.kill()
    return master


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


# ---------------------------------------------------------------------- power cuts


def damage(node: Node, number: int) -> None:
    """In the properties of that message, which no sum covers."""
    place = log_of(node).index(b"UNIQ_KEY\x01U%d" % number)
    node.disk.flip_bit(LOG_FILE, place)


def log_of(node: Node) -> bytes:
    inode = node.disk.memory.find(LOG_FILE)
    assert isinstance(inode, Inode)
    return bytes(inode.data[: node.opened.store.log.end])


def test_a_follower_whose_log_came_back_damaged_copies_that_again() -> None:
    group = well(1, 2, 3)
    node = others(group)[0]
    send(group, 5)
    node.lose_power()
    damage(node, 5)
    node.start()
    group.run(3.0)
    group.until("well")
    assert any("truncating log" in word for word in node.words)
    assert group.master is not None
    assert log_of(node) == log_of(group.master)


@pytest.mark.parametrize("piece", [300, 1 << 19])
def test_a_doubtful_end_is_compared_in_pieces_and_over_files(
    piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming_link, "OUTPUT_BYTES_MAX", piece)
    group = well(1, 2, 3)
    node = others(group)[0]
    for number in range(5, 40):
        send(group, number)
    node.lose_power()
    node.start()
    doubtful = node.member.member_report()
    assert doubtful.sure_to is not None
    assert doubtful.end - doubtful.sure_to > FILE_BYTES
    group.run(3.0)
    group.until("well")
    assert node.member.member_report().sure_to is None
    assert not any("restart" in word or "is impossible" in word for word in node.words)


@pytest.mark.parametrize("damaged", [1, 2])
def test_all_members_copy_the_master_after_all_machines_crashed(damaged: int) -> None:
    """The new master cannot know what is damaged, but it continues with one log."""
    group = well(1, 2)
    send(group, 5)
    for node in group.nodes.values():
        node.lose_power()
    damage(group.nodes[damaged], 5)
    for node in group.nodes.values():
        node.start()
    group.run(8.0)
    group.until("well")
    assert log_of(group.nodes[1]) == log_of(group.nodes[2])
    assert len(group.nodes[1].bodies()) == 6


def test_undamaged_log_is_kept() -> None:
    group = well(1, 2, 3)
    node = others(group)[0]
    send(group, 5)
    node.lose_power()
    node.start()
    group.run(3.0)
    group.until("well")
    assert not any("restart" in word for word in node.words)
    assert node.member.member_report().sure_to is None


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


# ---------------------------------------------------------------------- machines and disks


def test_a_machine_that_went_down_with_its_log_is_not_elected_before_it_caught_up() -> None:
    group = well(1, 2)
    old = group.master
    assert old is not None
    other = others(group)[0]
    other.lose_power()
    other.start()
    old.kill()
    group.run(12.0)
    assert group.master is None
    old.start()
    group.until("well")
    send(group, 5)
    old.kill()
    group.until("master")
    assert group.master is other


def test_member_that_needs_deleted_log_copies_the_whole_log_again() -> None:
    group = well(1, 2, 3)
    late = others(group)[0]
    late.kill()
    group.until("well")
    for number in range(5, 80):
        send(group, number)
    master = group.master
    assert master is not None
    for each in (master, others(group)[1]):
        while each.opened.store.log.remove_first():
            group.run(0.02)
    late.start()
    group.until("well", 60.0)
    send(group, 80)
    assert late.opened.store.log.start == master.opened.store.log.start
    assert any("copying the whole log again" in word for word in late.words)
    assert late.bodies()[-1] == 80
    assert not list_tails(late.disk), "what it had, the master had before"


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


def test_in_sync_member_with_a_new_disk_is_not_elected_before_it_caught_up() -> None:
    group = well(1, 2)
    old, other = group.master, others(group)[0]
    assert old is not None
    old.kill()
    other.kill()
    other.disk = FaultyDisk()
    other.start()
    group.run(12.0)
    assert group.master is None
    old.start()
    group.until("well")
    send(group, 5)
    assert other.bodies() == list(range(6))


def copies_slowly(group: Group, node: Node) -> None:
    """A new disk, and only some of the master's log gets there."""
    group.bytes_a_step[node.number] = 1500
    node.start()
    limit = group.now + 20.0
    while node.opened.store.log.end < 2000:
        group.run(0.02)
        assert group.now < limit, group.story()


def test_foreign_disk_is_refused_by_a_master_it_meets_before_reading_the_lease() -> None:
    group = well(1, 2, messages=60)
    old, other = group.master, others(group)[0]
    assert old is not None
    group.off_lease.add(other.number)
    old.kill()
    other.kill()
    other.disk = FaultyDisk()
    old.start()
    copies_slowly(group, other)
    old.kill()
    group.off_lease.clear()
    group.run(20.0)
    assert group.master is None, group.story()
    group.bytes_a_step.clear()
    old.start()
    group.until("well")
    assert other.bodies() == list(range(60))


def test_while_the_lease_store_is_gone_no_new_disk_takes_the_place_of_one_of_the_set() -> None:
    """It could not promise for the old one, which may be elected yet: so the master stops."""
    group = well(1, 2, messages=60)
    old, other = group.master, others(group)[0]
    assert old is not None
    group.lease.is_gone = True
    group.run(1.6)
    other.kill()
    other.disk = FaultyDisk()
    other.start()
    group.run(10.0)
    assert other.opened.store.log.end == 0
    assert not old.is_master, group.story()
    group.lease.is_gone = False
    group.until("well")
    assert other.bodies() == list(range(60))


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
