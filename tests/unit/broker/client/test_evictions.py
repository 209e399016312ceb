"""Heartbeats of which much is kept: refused, or the largest holder is closed in favour of one."""

from __future__ import annotations

import pytest

from gantrymq.base.memory_account import Kind
from gantrymq.broker.core.client.evictions import EVICTION_SECONDS
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.heartbeats import consumer
from gantrymq.fakes.memory import shrink
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import HeartbeatData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

LARGE = [f"T{number}-{'x' * 2000}" for number in range(100)]


def beat(
    broker: OpenedBroker, channel: FakeChannel, *topics: str, producers: tuple[str, ...] = ()
) -> Command:
    group = consumer(f"G-{channel.peer.replace('.', '_').replace(':', '_')}", *topics)
    data = HeartbeatData(
        client_id=channel.peer,
        producer_groups=producers,
        consumers=(group,) if topics else (),
    )
    body = javajson.dumps_fastjson(data.to_json())
    return broker.ask(RequestCode.HEART_BEAT, body=body, channel=channel)


def other_address(number: int) -> FakeChannel:
    channel = FakeChannel()
    channel.peer = f"10.0.0.{number}:1000"
    return channel


@pytest.fixture
def full() -> tuple[OpenedBroker, list[FakeChannel]]:
    """A broker in which three large clients have all that heartbeats may take."""
    broker = OpenedBroker()
    shrink(broker.state.memory, Kind.CLIENTS, 1_000_000)
    large = [FakeChannel() for _ in range(3)]
    for channel in large:
        assert beat(broker, channel, *LARGE).code == ResponseCode.SUCCESS
    return broker, large


def test_memory_of_heartbeats_is_counted_until_the_connection_ends() -> None:
    broker, channel = OpenedBroker(), FakeChannel()
    beat(broker, channel, "T", producers=("P", "Q"))
    beat(broker, channel, "T", producers=("P", "Q"))
    small = broker.state.memory.held_for(channel)
    assert 3_000 < small < 6_000
    beat(broker, channel, *LARGE, producers=("P", "Q"))
    assert broker.state.memory.held_for(channel) > 200_000
    beat(broker, channel, "T")
    assert broker.state.memory.held_for(channel) == small
    broker.close(channel)
    assert broker.state.memory.held == broker.state.memory.held_of(Kind.TABLES)


def test_one_more_of_the_same_size_is_refused_and_no_other_is_closed(
    full: tuple[OpenedBroker, list[FakeChannel]],
) -> None:
    broker, large = full
    answer = beat(broker, FakeChannel(), *LARGE)
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert (answer.remark or "").startswith("[OVERLOAD]system busy")
    assert "maxPeerMemory=" in (answer.remark or "")
    assert [each.close_reason for each in large] == [None] * 3


def test_a_small_client_is_served_and_the_largest_holder_is_closed(
    full: tuple[OpenedBroker, list[FakeChannel]],
) -> None:
    broker, large = full
    shrink(broker.state.memory, Kind.CLIENTS, broker.state.memory.held_of(Kind.CLIENTS))
    small = other_address(1)
    assert beat(broker, small, "T").code == ResponseCode.SUCCESS
    closed = [each for each in large if each.close_reason is not None]
    assert len(closed) == 1
    assert "it holds 2" in (closed[0].close_reason or "")
    broker.close(closed[0])
    assert broker.state.memory.held_of(Kind.CLIENTS) == sum(
        broker.state.memory.held_for(each) for each in (small, *large)
    )


def test_the_largest_is_looked_for_at_most_ten_times_a_second(
    full: tuple[OpenedBroker, list[FakeChannel]],
) -> None:
    broker, large = full
    shrink(broker.state.memory, Kind.CLIENTS, 0)
    assert beat(broker, other_address(1), "T").code == ResponseCode.SYSTEM_BUSY
    assert sum(each.close_reason is not None for each in large) == 3
    late = FakeChannel()
    shrink(broker.state.memory, Kind.CLIENTS, 1_000_000)
    beat(broker, late, *LARGE)
    shrink(broker.state.memory, Kind.CLIENTS, 0)
    assert beat(broker, other_address(2), "T").code == ResponseCode.SYSTEM_BUSY
    assert late.close_reason is None
    broker.pass_time(EVICTION_SECONDS)
    assert beat(broker, other_address(2), "T").code == ResponseCode.SYSTEM_BUSY
    assert late.close_reason is not None


def test_a_heartbeat_that_was_kept_is_kept_where_the_room_has_become_less() -> None:
    broker, channel = OpenedBroker(), FakeChannel()
    beat(broker, channel, "T")
    shrink(broker.state.memory, Kind.CLIENTS, 0)
    assert beat(broker, channel, "T").code == ResponseCode.SUCCESS
    assert beat(broker, channel, "T", "U").code == ResponseCode.SYSTEM_BUSY
