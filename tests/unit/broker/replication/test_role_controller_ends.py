"""Tests which clients are closed or redirected when a mastership ends, and what they are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.broker.core.messages import ANSWERED_LATER, Answer, AskBroker, CloseChannel, Request
from gantrymq.broker.core.send.send_forwarder import STAY_SECONDS
from gantrymq.fakes.brokers.broker import FakeChannel
from gantrymq.fakes.brokers.heartbeats import beat
from gantrymq.fakes.brokers.pulls import pull
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.groups.led_members import SEND, SYNC, fed, led, pause
from gantrymq.fakes.groups.members import Member
from gantrymq.wire import frames
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

# ---------------------------------------------------------------------- sends in the middle


def test_buffered_send_is_not_stored_and_its_sender_is_disconnected_at_the_end_of_an_epoch() -> (
    None
):
    member, channel = led(), FakeChannel()
    member.broker.feed(channel, fed(), 0, member.now, member.wall_ms)
    member.follow()
    assert channel.close_reason is not None
    assert member.bodies("T") == [b"first"]
    (replies,) = member.replies
    (reply,) = frames.FrameReader().decode(replies.frames)
    assert reply.code == ResponseCode.SERVICE_NOT_AVAILABLE


def test_send_that_waits_for_the_disk_is_not_acknowledged_at_the_end_of_an_epoch() -> None:
    member = led(store_settings=SYNC)
    member.disk_is_stuck = True
    request = member.send(SEND, message(), b"late")
    assert member.is_held(request)
    member.follow()
    answer = member.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.FLUSH_SLAVE_TIMEOUT
    assert member.channel.close_reason is not None


def test_send_that_waits_for_members_is_not_acknowledged_at_the_end_of_an_epoch() -> None:
    member = led()
    member.state.store.waiters.for_members = True
    request = member.send(SEND, message(), b"late")
    assert member.is_held(request)
    member.follow()
    answer = member.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.FLUSH_SLAVE_TIMEOUT


def test_senders_are_disconnected_before_any_answer() -> None:
    member = led()
    member.state.store.waiters.for_members = True
    member.send(SEND, message(), b"late")
    member.state.store.waiters.replicated(member.state.store.log.end)
    member.broker.turn(member.now, member.wall_ms)
    member.broker.follow(member.now, member.wall_ms)
    first, *others = member.broker.take_effects()
    assert isinstance(first, CloseChannel)
    assert any(isinstance(each, Answer) for each in others)


def handed_in(member: Member, channel: FakeChannel, body: bytes) -> Request:
    """A send before the turn that stores or relays it."""
    request = Request(Command(SEND, ext=message().encode(), body=body), channel)
    assert member.broker.handle(request, member.now, member.wall_ms) is ANSWERED_LATER
    return request


def with_a_relayed_send(channel: FakeChannel) -> Member:
    """A master that has sent one of this connection's to its predecessor, which does not answer."""
    member = Member(1)
    member.broker.master_is("127.0.0.1:20911", member.now, member.wall_ms)
    handed_in(member, channel, b"relayed")
    (asked,) = [each for each in member.broker.take_effects() if isinstance(each, AskBroker)]
    assert asked.address == "127.0.0.1:20911"
    member.lead()
    add_topic(member)
    return member


def test_senders_are_cut_off_though_they_wait_for_another_master_as_well() -> None:
    channel = FakeChannel()
    member = with_a_relayed_send(channel)
    ours = handed_in(member, channel, b"ours")
    member.broker.turn(member.now, member.wall_ms)
    member.broker.follow(member.now, member.wall_ms)
    first, *others = member.broker.take_effects()
    assert isinstance(first, CloseChannel)
    assert first.channel is channel
    assert any(isinstance(each, Answer) and each.request is ours for each in others)


def test_client_whose_sends_were_all_relayed_is_not_closed() -> None:
    channel = FakeChannel()
    member = with_a_relayed_send(channel)
    handed_in(member, channel, b"ours")
    member.settle()
    member.follow()
    assert channel.close_reason is None


def test_client_that_only_reads_is_not_closed() -> None:
    member, reader = led(), FakeChannel()
    member.send(RequestCode.PULL_MESSAGE, pull(0), channel=reader)
    member.follow()
    assert reader.close_reason is None


# ---------------------------------------------------------------------- all was handed over


def sending(member: Member, *, have_one_address: bool = True) -> FakeChannel:
    """The connection of a producer that has sent something."""
    if have_one_address:
        identity = replace(member.state.identity, group_address="10.0.0.9:10911")
        member.state.identity = identity
    channel = FakeChannel()
    beat(member, channel, producers=("PG",))
    assert member.broker.feed(channel, fed(), 0, member.now, member.wall_ms)[1] == 1
    member.settle()
    return channel


def test_client_that_knows_go_away_is_not_closed_after_a_handover() -> None:
    member = led()
    channel = sending(member)
    pause(member, is_paused=True)
    member.follow("127.0.0.1:20911")
    assert channel.close_reason is None
    member.pass_time(STAY_SECONDS)
    member.send(SEND, message(), b"more", channel=channel)
    member.pass_time(STAY_SECONDS)
    answer = member.answer(member.send(SEND, message(), b"more", channel=channel))
    assert answer is not None
    assert answer.code == ResponseCode.GO_AWAY


@pytest.mark.parametrize("is_paused", [True, False])
@pytest.mark.parametrize("have_one_address", [True, False])
def test_client_that_cannot_be_redirected_is_closed(
    is_paused: bool, have_one_address: bool
) -> None:
    if is_paused and have_one_address:
        member, channel = led(), FakeChannel()  # it sent no heartbeat
        sending(member)
        member.broker.feed(channel, fed(), 0, member.now, member.wall_ms)
        member.settle()
    else:
        member = led()
        channel = sending(member, have_one_address=have_one_address)
    if is_paused:
        pause(member, is_paused=True)
    member.follow("127.0.0.1:20911")
    assert channel.close_reason is not None


def test_clients_are_closed_while_a_send_waits() -> None:
    member = led()
    channel = sending(member)
    member.state.store.waiters.for_members = True
    member.send(SEND, message(), b"late")
    pause(member, is_paused=True)
    member.follow("127.0.0.1:20911")
    assert channel.close_reason is not None
