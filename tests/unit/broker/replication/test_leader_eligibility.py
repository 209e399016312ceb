"""Tests that a member may lead only with the tables of progress that its log needs."""

from __future__ import annotations

from gantrymq.broker.core.replication.consumption_table import CONSUMPTION
from gantrymq.broker.core.replication.metadata_replication import (
    DELAYS,
    TIMERS,
)
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.fakes.groups.led_members import send_keyed
from gantrymq.fakes.groups.members import Member, pair
from gantrymq.store.commitlog import log_truncation
from gantrymq.testing.memory_disk import MemoryDisk


def test_a_member_whose_log_was_cut_needs_the_masters_tables() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master)
    send_keyed(master)
    follower.copy(master)
    assert may_lead(follower)
    again = restarted(follower, cut_at=follower.opened.records("T", 0)[1].physical_offset)
    assert not may_lead(again)
    again.copy_log(master)
    assert not may_lead(again)
    again = restarted(again)
    assert not may_lead(again)
    again.copy_tables(master, DELAYS, TIMERS)
    again.pass_time(1.0)
    assert not may_lead(again)
    again.copy_tables(master, CONSUMPTION)
    again.pass_time(1.0)
    assert may_lead(again)
    assert may_lead(restarted(again))


def test_a_member_that_is_new_needs_them_too_unless_there_is_nothing() -> None:
    master, _ = pair()
    add_topic(master)
    send_keyed(master)
    follower = Member(3)
    assert may_lead(follower)
    follower.copy_log(master)
    assert not may_lead(follower)
    follower.copy_tables(master)
    follower.pass_time(1.0)
    assert may_lead(follower)


def test_former_master_may_lead_again() -> None:
    member = Member(1)
    member.lead()
    add_topic(member)
    send_keyed(member)
    assert may_lead(member)
    member.follow()
    assert may_lead(member)
    assert may_lead(restarted(member))


def restarted(member: Member, cut_at: int | None = None) -> Member:
    """It stops, and starts again on its disk."""
    member.opened.close()
    disk = member.opened.disk
    if cut_at is not None:
        log_truncation.request(disk, log_truncation.TruncationRequest(cut_at))
    if isinstance(disk, MemoryDisk):
        disk.end_process()
    again = Member(member.state.identity.member, disk=disk, files=dict(member.saved))
    again.now = member.now
    return again


def may_lead(member: Member) -> bool:
    return member.broker.may_lead
