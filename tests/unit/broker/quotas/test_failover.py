"""Quotas after a failover: the next master enforces what was set at the last one."""

from __future__ import annotations

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.replication.slave_synchronizer import ROUND_SECONDS
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.replicas import MASTER, opened_slave, pair, registered
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.groups.members import Member, change_places
from gantrymq.fakes.groups.members import pair as members
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode, ResponseCode

SEND = RequestCode.SEND_MESSAGE_V2
SET, DELETE = RequestCode.GANTRY_SET_QUOTA, RequestCode.GANTRY_DELETE_QUOTA
NAME = {"kind": "topic", "name": "T"}


def set_quota(broker: OpenedBroker, requests: int = 10) -> None:
    answer = broker.ask(SET, ext={**NAME, "requestsPerSecond": str(requests)})
    assert answer.code == ResponseCode.SUCCESS, answer.remark


def last_of_a_flood(broker: OpenedBroker) -> tuple[int, str]:
    answers = [broker.ask(SEND, message("T"), b"x") for _ in range(40)]
    return answers[-1].code, answers[-1].remark or ""


def restarted_as_master(slave: OpenedBroker) -> OpenedBroker:
    disk = slave.opened.disk
    assert isinstance(disk, MemoryDisk)
    disk.end_process()
    return OpenedBroker(disk=disk, files=slave.saved)


def test_slave_of_fixed_roles_that_becomes_master_enforces_the_quotas_of_its_master() -> None:
    master, slave = OpenedBroker(), opened_slave()
    add_topic(master)
    set_quota(master)
    slave.reachable[MASTER] = master
    registered(slave)
    code, remark = last_of_a_flood(restarted_as_master(slave))
    assert code == ResponseCode.SYSTEM_BUSY
    assert "quota of topic T" in remark


def test_slave_follows_changes_of_quotas_and_writes_nothing_where_there_are_none() -> None:
    master, slave = pair()
    set_quota(master)
    slave.pass_time(ROUND_SECONDS)
    assert slave.state.quotas.rules.quotas == master.state.quotas.rules.quotas
    assert File.QUOTAS in slave.saved
    slave.saved.clear()
    slave.pass_time(3 * ROUND_SECONDS)
    assert File.QUOTAS not in slave.saved
    master.ask(DELETE, ext=NAME)
    slave.pass_time(ROUND_SECONDS)
    assert not slave.state.quotas.is_on


def test_slave_keeps_its_quotas_while_its_master_cannot_be_reached() -> None:
    master, slave = pair()
    set_quota(master)
    slave.pass_time(ROUND_SECONDS)
    del slave.reachable[MASTER]
    slave.pass_time(3 * ROUND_SECONDS)
    assert slave.state.quotas.is_on


def test_quotas_are_set_at_the_master_and_not_at_its_slave() -> None:
    _, slave = pair()
    answer = slave.ask(SET, ext={**NAME, "requestsPerSecond": "10"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "set quotas at its master" in (answer.remark or "")


def grouped() -> tuple[Member, Member]:
    master, follower = members()
    add_topic(master)
    set_quota(master)
    follower.copy(master)
    return master, follower


def test_member_that_is_elected_enforces_the_quotas_of_the_master_before_it() -> None:
    master, follower = grouped()
    assert File.QUOTAS in follower.saved
    change_places(master, follower)
    code, remark = last_of_a_flood(follower)
    assert code == ResponseCode.SYSTEM_BUSY
    assert "quota of topic T" in remark


def test_member_that_is_elected_after_a_quota_was_deleted_enforces_none() -> None:
    master, follower = grouped()
    master.ask(DELETE, ext=NAME)
    follower.copy(master)
    change_places(master, follower)
    assert last_of_a_flood(follower) == (ResponseCode.SUCCESS, "")
