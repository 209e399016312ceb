"""Tests outgoing links: what is safe, when the log is copied again, which master is followed."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.fakes.groups.electing import Group, Node
from gantrymq.ha.disk import epoch_file
from gantrymq.ha.lease.lease import NO_MEMBER


def well(messages: int = 3) -> Group:
    """Three members that all have these messages."""
    group = Group(1, 2, 3)
    group.until("well")
    for number in range(messages):
        assert master_of(group).put(number)
    group.run(0.2)
    assert master_of(group).acknowledged == list(range(messages))
    return group


def master_of(group: Group) -> Node:
    assert group.master is not None
    return group.master


def followers(group: Group) -> list[Node]:
    return [each for each in group.nodes.values() if each is not group.master]


def test_a_follower_shows_only_what_its_master_calls_safe() -> None:
    group = well()
    reader, gone = followers(group)
    safe = reader.opened.store.log.end
    gone.kill()
    assert master_of(group).put(3)
    group.run(0.5)
    store = reader.opened.store
    assert store.log.end == master_of(group).opened.store.log.end > safe
    assert store.safe == store.readable == safe, "the one that is gone counts still"
    group.run(3.0)
    assert master_of(group).acknowledged[-1] == 3
    assert store.safe == store.log.end


def test_link_to_a_master_of_an_older_epoch_is_closed() -> None:
    group = well()
    follower = followers(group)[0]
    group.off_lease.update(group.numbers)  # no member learns of it by the lease
    follower.member._replica_state.see(follower.member.seen_epoch + 1)
    group.run(0.7)
    assert any("has seen a newer epoch" in word for word in follower.words)


def test_in_sync_member_is_removed_before_it_copies_its_log_again() -> None:
    """Each member that is elected has all acknowledged messages."""
    group = well()
    late = followers(group)[0]
    late.kill()
    epoch_file.write(late.disk, ())
    late.start()
    lease = group.lease.lease
    assert lease is not None
    assert late.number in lease.in_sync
    while not any("restart:" in word for word in late.words):
        group.run(0.02)
        lease = group.lease.lease
        assert lease is not None
    assert late.number not in lease.in_sync
    assert any("once this member has left the in-sync set" in word for word in late.words)
    group.until("well")
    assert late.bodies() == [0, 1, 2]


def test_a_master_that_the_settings_do_not_name_is_followed_where_the_lease_says() -> None:
    """A group grows, or shrinks, by one restart after the other."""
    group = well()
    node = followers(group)[0]
    node.kill()
    group.numbers = tuple({*group.numbers} - {master_of(group).number})
    node.start()
    group.until("well")
    assert any("groupMembers does not name the master" in word for word in node.words)
    assert node.bodies() == [0, 1, 2]


def test_master_without_a_known_address_is_waited_for() -> None:
    group = well()
    lease = group.lease.lease
    assert lease is not None
    group.lease.edit(replace(lease, holder=4, epoch=lease.epoch + 1, address="", ha_address=""))
    group.run(1.0)
    for node in group.nodes.values():
        assert sum("groupMembers does not name the master" in word for word in node.words) == 1
    lease = group.lease.lease
    assert lease is not None
    group.lease.edit(replace(lease, holder=NO_MEMBER))
    group.until("well")
