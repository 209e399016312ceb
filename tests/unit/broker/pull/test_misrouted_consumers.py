"""Consumers that take a member for the master: what they commit is passed on, and they are led."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.send.send_forwarder import STAY_SECONDS
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.pulls import COMMITS, SUBSCRIBES, SUSPENDS, bodies, pull
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.groups.members import Member, change_places, pair
from gantrymq.wire.codes import LanguageCode, RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.headers.offset import UpdateConsumerOffsetRequest
from gantrymq.wire.version import OWN_VERSION, V5_3_1

PULL = RequestCode.PULL_MESSAGE
OLDER: list[dict[str, int]] = [{"version": V5_3_1}, {"language": LanguageCode.PYTHON}]
CLIENTS: list[dict[str, int]] = [{}, *OLDER]


def members(*, have_one_address: bool = True) -> tuple[Member, Member]:
    """The master, and one that was it; both know the group and have a message."""
    old, new = pair()
    add_topic(old, "T")
    old.ask(RequestCode.SEND_MESSAGE_V2, message(), b"first")
    new.copy(old)
    change_places(old, new)
    for member in (old, new):
        member.state.identity = replace(
            member.state.identity, group_address="10.0.0.9:10911" if have_one_address else ""
        )
        Reader(member).read()
    return new, old


class Reader:
    """A consumer's connection to a member."""

    def __init__(self, member: OpenedBroker, version: int = OWN_VERSION, language: int = 0) -> None:
        self.channel = FakeChannel()
        self.language = language
        self.member = member
        self.version = version

    def send(self, code: RequestCode, header: Header, *, is_oneway: bool = False) -> Request:
        return self.member.send(
            code,
            header,
            channel=self.channel,
            is_oneway=is_oneway,
            version=self.version,
            language=self.language,
        )

    def ask(self, code: RequestCode, header: Header) -> Command:
        answer = self.member.answer(self.send(code, header))
        assert answer is not None
        return answer

    def commit(self, offset: int = 1) -> Command:
        return self.ask(RequestCode.UPDATE_CONSUMER_OFFSET, committed(offset))

    def read(self, flag: int = 0) -> Command:
        return self.ask(PULL, pull(0, sys_flag=SUBSCRIBES | flag, commit_offset=1))

    def stays(self) -> bool:
        """Whether it reads on and is not closed."""
        return bodies(self.read()) == ["first"] and self.channel.close_reason is None


def committed(offset: int) -> UpdateConsumerOffsetRequest:
    return UpdateConsumerOffsetRequest(
        consumer_group="G", topic="T", queue_id=0, commit_offset=offset
    )


def offset_at(member: OpenedBroker) -> int | None:
    return member.state.offsets.find("G", "T", 0)


def test_commit_at_a_follower_is_forwarded_to_the_master() -> None:
    for have_one_address in (True, False):
        master, follower = members(have_one_address=have_one_address)
        assert Reader(follower).commit().code == ResponseCode.SUCCESS
        assert offset_at(master) == 1
        assert offset_at(follower) is None


def test_oneway_commit_is_forwarded_without_an_answer() -> None:
    master, follower = members()
    reader = Reader(follower)
    request = reader.send(RequestCode.UPDATE_CONSUMER_OFFSET, committed(1), is_oneway=True)
    assert follower.answer(request) is None
    assert offset_at(master) == 1


def test_the_master_judges_a_commit() -> None:
    master, follower = members()
    Reader(follower).commit(100)
    assert offset_at(master) == 1


def test_commit_is_refused_as_busy_when_the_master_is_unreachable() -> None:
    _, follower = members()
    follower.reachable.clear()
    answer = Reader(follower).commit()
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert "commit it again" in (answer.remark or "")


def test_commit_is_kept_by_the_member_while_there_is_no_master() -> None:
    _, follower = members()
    follower.master_is("")
    assert Reader(follower).commit().code == ResponseCode.SUCCESS
    assert offset_at(follower) == 1


def test_a_slave_of_fixed_roles_keeps_it() -> None:
    broker = OpenedBroker()
    add_topic(broker, "T")
    Reader(broker).read()
    broker.state.identity = replace(broker.state.identity, broker_id=1)
    broker.state.master_address = "127.0.0.1:10911"
    assert Reader(broker).commit().code == ResponseCode.SUCCESS
    assert offset_at(broker) == 1


@pytest.mark.parametrize("flag", [0, COMMITS])
def test_consumer_that_supports_go_away_gets_it_after_a_while(flag: int) -> None:
    _, follower = members()
    reader = Reader(follower)
    if not flag:
        reader.commit()
    assert bodies(reader.read(flag)) == ["first"]
    follower.pass_time(STAY_SECONDS)
    assert reader.read(flag).code == ResponseCode.GO_AWAY
    assert reader.channel.close_reason is None
    assert Reader(follower).stays()


@pytest.mark.parametrize("older", OLDER)
def test_older_consumer_is_closed_and_its_pulls_are_answered(older: dict[str, int]) -> None:
    _, follower = members()
    reader = Reader(follower, **older)
    waits = reader.send(PULL, pull(1, sys_flag=SUBSCRIBES | SUSPENDS))
    reader.commit()
    assert reader.stays()
    follower.pass_time(STAY_SECONDS)
    answer = follower.answer(waits)
    assert answer is not None
    assert answer.code == ResponseCode.PULL_NOT_FOUND
    assert "offsets are committed at" in (reader.channel.close_reason or "")


@pytest.mark.parametrize("client", CLIENTS)
def test_consumer_that_only_reads_stays(client: dict[str, int]) -> None:
    _, follower = members()
    reader = Reader(follower, **client)
    for _ in range(3):
        follower.pass_time(STAY_SECONDS)
        assert reader.stays()


@pytest.mark.parametrize("client", CLIENTS)
def test_consumer_stays_without_a_group_address_or_a_master(client: dict[str, int]) -> None:
    for have_one_address, has_master in ((False, True), (True, False)):
        master, follower = members(have_one_address=have_one_address)
        reader = Reader(follower, **client)
        reader.commit()
        follower.master_is(master.address if has_master else "")
        follower.pass_time(2 * STAY_SECONDS)
        assert reader.stays()


@pytest.mark.parametrize("client", CLIENTS)
def test_member_that_becomes_master_keeps_its_consumers(client: dict[str, int]) -> None:
    master, follower = members()
    reader = Reader(follower, **client)
    reader.read(COMMITS)
    follower.copy(master)
    change_places(master, follower)
    follower.pass_time(2 * STAY_SECONDS)
    assert Reader(follower, **client).stays()
    assert reader.read().code != ResponseCode.GO_AWAY


def test_a_connection_that_ends_is_forgotten() -> None:
    _, follower = members()
    for client in CLIENTS:
        reader = Reader(follower, **client)
        reader.commit()
        follower.close(reader.channel)
        follower.pass_time(2 * STAY_SECONDS)
        assert reader.channel.close_reason is None
