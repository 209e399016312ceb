"""Timers that a broker's start finds deleted with its log count as lost."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.fakes.brokers.broker import IDENTITY, STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.timers import HOST, accept, disk_of, jump, put
from gantrymq.fakes.groups.members import Member
from gantrymq.wire.message.record import Record

HOUR = 3600
SMALL_FILES = dataclasses.replace(STORE_SETTINGS, mapped_file_size_commit_log=1 << 16)


def with_a_log_of_small_files() -> OpenedBroker:
    """A broker with two timers in the first file of its log, and other messages in the next."""
    broker = OpenedBroker(store_settings=SMALL_FILES)
    accept(broker, HOUR, b"1")
    accept(broker, HOUR, b"2")
    for _ in range(30):
        put(broker, Record(b"N", bytes(9000), born_host=HOST, store_host=HOST))
        jump(broker, 1)
    return broker


def without_first_file(broker: OpenedBroker) -> OpenedBroker:
    """The broker was killed, and the first file of its log was lost before it started again."""
    disk = disk_of(broker)
    disk.remove(f"commitlog/{min(entry.name for entry in disk.list('commitlog'))}")
    return killed_and_started(broker)


def killed_and_started(broker: OpenedBroker) -> OpenedBroker:
    disk = disk_of(broker)
    disk.end_process()
    again = OpenedBroker(store_settings=SMALL_FILES, disk=disk, files=broker.saved)
    again.now = broker.now
    again.settle()
    return again


def lost(broker: OpenedBroker) -> int:
    return broker.services.timer_service.counters["lost"]


@pytest.mark.parametrize("others", [0, 3], ids=["all", "some"])
def test_timers_that_a_start_finds_deleted_count_as_lost(others: int) -> None:
    broker = with_a_log_of_small_files()
    for number in range(others):
        accept(broker, HOUR, b"other %d" % number)
    broker.pass_time(10)
    again = without_first_file(broker)
    assert lost(again) == 2
    assert any("lost timer messages count=2:" in line.text for line in again.lines)
    again.pass_time(HOUR)
    assert again.bodies("T") == [b"other %d" % number for number in range(others)]
    assert lost(again) == 2, "counted once"
    assert lost(killed_and_started(again)) == 0, "the next start does not count them again"


def test_timers_that_were_delivered_are_not_lost_with_the_log() -> None:
    broker = with_a_log_of_small_files()
    broker.pass_time(HOUR + 10)
    assert broker.bodies("T") == [b"1", b"2"]
    assert lost(without_first_file(broker)) == 0


def test_a_log_that_a_repair_emptied_lost_the_timers_that_waited() -> None:
    broker = with_a_log_of_small_files()
    assert lost(OpenedBroker(files=broker.saved)) == 2


def test_a_slave_counts_no_timers_as_lost() -> None:
    broker = with_a_log_of_small_files()
    slave = dataclasses.replace(IDENTITY, broker_id=1)
    assert lost(OpenedBroker(files=broker.saved, identity=slave)) == 0


def test_a_member_that_cut_off_the_end_of_its_log_counts_no_timers_as_lost() -> None:
    broker = with_a_log_of_small_files()
    member = Member(2, files=dict(broker.saved))
    member.lead()
    assert member.state.identity.is_master
    assert lost(member) == 0
