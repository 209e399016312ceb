"""Tests whole members with a new or foreign disk, or with a log that the master no longer has."""

from __future__ import annotations

from gantrymq.fakes.groups.electing import Group, Node
from gantrymq.fakes.groups.running_groups import others, send, well
from gantrymq.store.commitlog.truncated_tails import list_tails
from gantrymq.testing.faulty_disk import FaultyDisk


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
