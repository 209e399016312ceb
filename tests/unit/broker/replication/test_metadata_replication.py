"""Tests the master's tables that travel with the log, and when they count at followers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.broker.core.messages import File, SaveFile
from gantrymq.broker.core.replication.consumption_table import CONSUMPTION
from gantrymq.broker.core.replication.metadata_replication import (
    ACCOUNTS,
    DELAYS,
    LOCKS,
    PROGRESS,
    TOPICS,
)
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import STORE_SETTINGS
from gantrymq.fakes.brokers.pops import PoppedBroker
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.fakes.groups.led_members import send_keyed
from gantrymq.fakes.groups.members import Member, change_places, pair
from gantrymq.wire.bodies.consuming.pops import TopicMode
from gantrymq.wire.bodies.groups import GroupConfig


def take(member: Member, name: str, content: bytes) -> None:
    member.broker.take_table(name, content, member.now, member.wall_ms)
    member.settle()


# ---------------------------------------------------------------------- replaced as a whole


def test_topics_and_groups_are_the_masters_and_no_others() -> None:
    master, follower = pair()
    add_topic(follower, "Stray")
    add_topic(master, "T")
    follower.state.groups.put(GroupConfig(group_name="stray"), follower.wall_ms)
    master.state.groups.put(GroupConfig(group_name="mine"), master.wall_ms)
    follower.copy_tables(master)
    assert follower.state.topics.all == master.state.topics.all
    assert follower.state.groups.find("stray") is None
    assert follower.state.groups.find("mine") is not None
    assert follower.saved[File.TOPICS] == master.state.topics.content()


def test_offsets_are_the_masters_and_no_others() -> None:
    master, follower = pair()
    follower.state.offsets.commit("stray", "T", 0, 7)
    master.state.offsets.commit("mine", "T", 0, 3)
    follower.copy_tables(master)
    assert follower.state.offsets.find("stray", "T", 0) is None
    assert follower.state.offsets.find("mine", "T", 0) == 3
    master.state.offsets.remove(group="mine")
    follower.copy_tables(master)
    assert len(follower.state.offsets) == 0


def test_filters_and_modes_are_the_masters() -> None:
    master, follower = pair()
    mode = TopicMode.from_json({"topic": "T", "consumerGroup": "G", "mode": "POP"})
    master.state.request_modes.put(mode)
    follower.copy_tables(master)
    assert follower.state.request_modes.content() == master.state.request_modes.content()
    assert follower.state.filters.content() == master.state.filters.content()


def test_accounts_that_come_from_elsewhere_are_not_the_masters() -> None:
    settings = BrokerSettings(acl_enable=True, acl_file="plain_acl.yml", acl_file_read_only=True)
    member = Member(2, settings)
    own = member.state.access.content()
    assert ACCOUNTS not in member.broker.tables()
    take(member, ACCOUNTS, b"accounts:\n- {accessKey: masters, secretKey: 12345678}\n")
    assert member.state.access.content() == own
    assert not member.services.metadata_replication.unstored


def test_accounts_are_the_masters() -> None:
    settings = BrokerSettings(acl_enable=True, acl_file="plain_acl.yml")
    master, follower = Member(1, settings), Member(2, settings)
    rules = plain_acl.read(b"accounts:\n- accessKey: a-client\n  secretKey: secret-of-a-client\n")
    master.state.access.replace(rules)
    take(follower, ACCOUNTS, master.broker.tables()[ACCOUNTS])
    guard = follower.state.access.guard
    assert guard is not None
    assert "a-client" in guard.rules.accounts
    assert b"a-client" in follower.saved[File.ACL]
    assert ACCOUNTS not in Member(3).broker.tables()


@pytest.mark.parametrize("name", [*sorted(PROGRESS), TOPICS, LOCKS, ACCOUNTS, "of tomorrow"])
@pytest.mark.parametrize("content", [b"", b"\0" * 8, b"\0" * 20, b"nonsense" * 3])
def test_malformed_table_changes_nothing(name: str, content: bytes) -> None:
    follower = Member(2)
    topics, offsets = follower.state.topics.content(), follower.state.offsets.content()
    take(follower, name, content)
    follower.pass_time(1.0)
    assert follower.state.topics.content() == topics
    assert follower.state.offsets.content() == offsets
    follower.lead()
    assert follower.state.identity.is_master


# ---------------------------------------------------------------------- stored


def test_it_is_known_which_tables_are_not_on_disk_yet() -> None:
    master, follower = pair()
    add_topic(master, "U")
    follower.files_are_stuck = True
    take(follower, TOPICS, master.broker.tables()[TOPICS])
    assert follower.broker.unstored_tables == {TOPICS}
    follower.write(follower.unwritten[0], "the disk is full")
    follower.settle()
    assert follower.broker.unstored_tables == {TOPICS}
    follower.pass_time(1.0)
    follower.write(follower.unwritten[0])
    follower.settle()
    assert not follower.broker.unstored_tables


def test_a_table_that_came_meanwhile_has_to_be_stored_too() -> None:
    master, follower = pair()
    follower.files_are_stuck = True
    add_topic(master, "U")
    take(follower, TOPICS, master.broker.tables()[TOPICS])
    add_topic(master, "V")
    take(follower, TOPICS, master.broker.tables()[TOPICS])
    follower.write(follower.unwritten[0])
    follower.settle()
    assert follower.broker.unstored_tables == {TOPICS}
    follower.write(follower.unwritten[0])
    follower.settle()
    assert not follower.broker.unstored_tables
    assert b'"V"' in follower.saved[File.TOPICS]


# ---------------------------------------------------------------------- with the log


def test_progress_counts_once_the_log_it_speaks_of_is_on_disk() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master, DELAY="1")
    master.pass_time(3.0)
    tables = master.broker.tables()
    take(follower, DELAYS, tables[DELAYS])
    follower.pass_time(1.0)
    assert follower.services.delay_service.offset(1) == 0
    follower.copy_log(master, is_flushed=False)
    follower.disk_is_stuck = True
    follower.pass_time(0.5)
    assert follower.services.delay_service.offset(1) == 0
    follower.disk_is_stuck = False
    follower.pass_time(0.5)
    assert follower.services.delay_service.offset(1) == 1


def test_new_master_takes_tables_that_its_log_covers() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master, DELAY="1")
    master.pass_time(3.0)
    follower.now = master.now
    follower.disk_is_stuck = True
    follower.copy_log(master, is_flushed=False)
    follower.copy_tables(master)
    follower.opened.background.complete_all()
    follower.state.store.turn(follower.now, follower.wall_ms)
    assert follower.services.delay_service.offset(1) == 0
    follower.broker.lead(2, follower.now, follower.wall_ms)
    assert follower.services.delay_service.offset(1) == 1


def test_new_master_has_tables_whose_write_was_under_way() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master)
    master.state.offsets.commit("G", "T", 0, 1)
    follower.copy_log(master)
    follower.files_are_stuck = True
    take(follower, CONSUMPTION, master.broker.tables()[CONSUMPTION])
    follower.pass_time(0.1)
    assert follower.state.offsets.find("G", "T", 0) is None
    follower.lead(2)
    assert follower.state.offsets.find("G", "T", 0) == 1
    follower.state.offsets.commit("G", "T", 0, 0)
    unstick(follower)
    assert follower.state.offsets.find("G", "T", 0) == 0  # it does not count once more


def test_new_master_has_waiting_offsets_that_lie_within_its_queues() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master)
    master.state.offsets.commit("G", "T", 0, 1)
    master.state.offsets.commit("H", "T", 0, 99)
    follower.disk_is_stuck = True
    follower.copy_log(master, is_flushed=False)
    take(follower, CONSUMPTION, master.broker.tables()[CONSUMPTION])
    follower.opened.background.complete_all()
    follower.state.store.turn(follower.now, follower.wall_ms)
    assert follower.state.offsets.find("G", "T", 0) is None
    follower.broker.lead(2, follower.now, follower.wall_ms)
    assert follower.state.offsets.find("G", "T", 0) == 1
    assert follower.state.offsets.find("H", "T", 0) == 1


def test_new_master_saves_in_flight_messages_before_offsets() -> None:
    master, follower = pair()
    pops = PoppedBroker(broker=master)
    pops.store("a", "b")
    pops.popped(invisible_time=60_000)
    follower.copy_log(master)
    follower.files_are_stuck = True
    take(follower, CONSUMPTION, master.broker.tables()[CONSUMPTION])
    follower.pass_time(0.1)
    follower.lead(2)
    assert follower.state.offsets.find("G", "T", 0) == 2
    assert len(follower.state.in_flight) == 2
    (save,) = written_of(follower, File.POPS)
    follower.write(save, "the disk is full")
    follower.pass_time(5.0)
    assert not written_of(follower, File.OFFSETS)
    unstick(follower)
    assert b"0:2" in follower.saved[File.OFFSETS]
    assert b"[0,1]" in follower.saved[File.POPS]


def written_of(member: Member, file: File) -> list[SaveFile]:
    return [save for save in member.unwritten if save.file is file]


def unstick(member: Member) -> None:
    member.files_are_stuck = False
    for save in list(member.unwritten):
        member.write(save)
    member.pass_time(1.0)


def test_a_log_that_waits_to_be_flushed_is_flushed_for_them() -> None:
    master, follower = pair(store_settings=LAZY)
    add_topic(master)
    send_keyed(master, DELAY="1")
    master.pass_time(3.0)
    follower.now = master.now
    follower.copy_log(master, is_flushed=False)
    follower.copy_tables(master)
    follower.pass_time(0.2)
    assert follower.services.delay_service.offset(1) == 1


LAZY = replace(STORE_SETTINGS, flush_commit_log_thorough_interval=1_000_000)


def test_of_those_that_wait_the_first_and_the_last_are_kept() -> None:
    master, follower = pair()
    add_topic(master)
    early = Member(3)
    for number in range(4):
        send_keyed(master, b"%d" % number, DELAY="1")
        master.pass_time(2.0)
        take(follower, DELAYS, master.broker.tables()[DELAYS])
        if number == 0:
            early.copy_log(master)
    follower.copy_log(early)
    follower.pass_time(1.0)
    assert follower.services.delay_service.offset(1) == 1
    follower.copy_log(master)
    follower.pass_time(1.0)
    assert follower.services.delay_service.offset(1) == 4


def test_tables_of_an_earlier_master_are_dropped() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master, DELAY="1")
    master.pass_time(3.0)
    take(follower, DELAYS, master.broker.tables()[DELAYS])
    follower.master_is("127.0.0.1:30911")
    follower.copy_log(master)
    follower.pass_time(1.0)
    assert follower.services.delay_service.offset(1) == 0


def test_progress_goes_back_with_the_masters() -> None:
    master, follower = pair()
    add_topic(master)
    send_keyed(master, DELAY="1")
    early = master.broker.tables()
    master.pass_time(3.0)
    follower.copy(master)
    assert follower.services.delay_service.offset(1) == 1
    take(follower, DELAYS, early[DELAYS])
    assert follower.services.delay_service.offset(1) == 0


def test_a_table_that_says_nothing_new_is_the_same() -> None:
    master, _ = pair()
    add_topic(master)
    before = master.broker.tables()
    send_keyed(master)
    after = master.broker.tables()
    assert {name for name in before if before[name] != after[name]} == set()
    master.state.offsets.commit("G", "T", 0, 1)
    assert master.broker.tables()[CONSUMPTION] != after[CONSUMPTION]


def test_follower_saves_in_flight_messages_before_offsets() -> None:
    master, follower = pair()
    pops = PoppedBroker(broker=master)
    pops.store("a", "b")
    pops.popped(invisible_time=60_000)
    follower.copy_log(master)
    follower.files_are_stuck = True
    take(follower, CONSUMPTION, master.broker.tables()[CONSUMPTION])
    follower.pass_time(0.2)
    assert [save.file for save in follower.unwritten] == [File.POPS]
    assert follower.state.offsets.find("G", "T", 0) is None
    follower.write(follower.unwritten[0])
    follower.settle()
    assert [save.file for save in follower.unwritten] == [File.OFFSETS]
    assert follower.state.offsets.find("G", "T", 0) == 2


def test_late_pop_at_the_old_master_moves_no_offset() -> None:
    master, follower = pair()
    pops = PoppedBroker(broker=master)
    pops.store("a")
    (popped,) = pops.popped(invisible_time=60_000)
    follower.copy(master)
    change_places(master, follower)
    offset = master.state.offsets.find("G", "T", 0)
    master.services.pops.store_offset(("G", "T", 0), 99)
    assert master.state.offsets.find("G", "T", 0) == offset
    assert popped.body == "a"
