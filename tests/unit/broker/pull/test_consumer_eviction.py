"""Consumers do not wait at a member that cannot follow its master."""

from __future__ import annotations

from gantrymq.broker.core.pull.consumer_eviction import LOOK_SECONDS
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.pulls import SUBSCRIBES, SUSPENDS, bodies, pull
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.groups.members import Member, change_places, pair
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode, ResponseCode

WAITS = SUBSCRIBES | SUSPENDS


def fill(member: OpenedBroker) -> None:
    disk = member.opened.disk
    assert isinstance(disk, MemoryDisk)
    disk.total_bytes = 0
    member.state.store.watch.look_soon()


def old_and_new() -> tuple[Member, Member]:
    """A member that was master, and the one that is."""
    old, new = pair()
    add_topic(old, "T")
    old.ask(RequestCode.SEND_MESSAGE_V2, message(), b"first")
    new.copy(old)
    change_places(old, new)
    return old, new


def test_held_pull_at_a_member_with_a_full_disk_is_sent_to_the_master() -> None:
    old, _ = old_and_new()
    reader = FakeChannel()
    waits = old.send(RequestCode.PULL_MESSAGE, pull(1, sys_flag=WAITS), channel=reader)
    fill(old)
    old.pass_time(2 * LOOK_SECONDS)
    answer = old.answer(waits)
    assert answer is not None
    assert answer.code == ResponseCode.PULL_NOT_FOUND
    assert "cannot follow" in (reader.close_reason or "")


def test_consumer_that_reconnects_to_a_member_with_a_full_disk_is_closed_again() -> None:
    old, _ = old_and_new()
    fill(old)
    old.pass_time(2 * LOOK_SECONDS)
    reader = FakeChannel()
    old.send(RequestCode.PULL_MESSAGE, pull(1, sys_flag=WAITS), channel=reader)
    old.pass_time(2 * LOOK_SECONDS)
    assert reader.close_reason is not None


def test_stored_messages_can_still_be_read() -> None:
    old, _ = old_and_new()
    fill(old)
    old.pass_time(2 * LOOK_SECONDS)
    assert bodies(old.ask(RequestCode.PULL_MESSAGE, pull(0, sys_flag=WAITS))) == ["first"]


def test_consumer_stays_while_no_master_is_known() -> None:
    old, _ = old_and_new()
    old.master_is("")
    reader = FakeChannel()
    waits = old.send(RequestCode.PULL_MESSAGE, pull(1, sys_flag=WAITS), channel=reader)
    fill(old)
    old.pass_time(4 * LOOK_SECONDS)
    assert old.is_held(waits)
    assert reader.close_reason is None


def test_member_that_follows_well_and_master_keep_their_consumers() -> None:
    old, new = old_and_new()
    fill(new)
    for member in (old, new):
        reader = FakeChannel()
        waits = member.send(RequestCode.PULL_MESSAGE, pull(1, sys_flag=WAITS), channel=reader)
        member.pass_time(4 * LOOK_SECONDS)
        assert member.is_held(waits)
        assert reader.close_reason is None
