"""Tests the table of connected clients: members of groups, shared data, lookups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.memory_account import MemoryAccount
from gantrymq.broker.core.tables.clients import REMEMBERED_BYTES_MAX, Clients, Memberships
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.fakes.brokers.broker import FakeChannel
from gantrymq.fakes.brokers.heartbeats import consumer
from gantrymq.wire.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData

ONE, TWO = FakeChannel(), FakeChannel()


def client(channel: FakeChannel, client_id: str = "c", heard_at: float = 0.0) -> Client:
    return Client(channel, client_id, language=0, version=479, heard_at=heard_at, heard_ms=0)


def by_tags(group: str, topic: str, *tags: str) -> ConsumerData:
    said = SubscriptionData(topic=topic, sub_string=" || ".join(tags), tags=tags)
    return ConsumerData(group_name=group, subscriptions=(said,))


def test_first_heartbeat_changes_a_group_the_same_again_does_not() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    assert clients.add_consumer(consumer("G", "T"), client(ONE))
    assert not clients.add_consumer(consumer("G", "T"), client(ONE))


def test_producers_are_found_by_their_id() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    for group, channel, client_id in (("P", ONE, "c"), ("Q", ONE, "c"), ("P", TWO, "d")):
        clients.add_producer(group, client(channel, client_id))
    assert [each.channel for each in clients.producers_of("c")] == [ONE, ONE]
    clients.add_producer("Q", client(ONE, "d"))  # it calls itself otherwise now
    assert [each.channel for each in clients.producers_of("c")] == [ONE]
    assert {each.channel for each in clients.producers_of("d")} == {ONE, TWO}
    clients.add_producer("P", client(TWO, "d", heard_at=5.0))
    assert max(each.heard_at for each in clients.producers_of("d")) == 5.0
    clients.closed(ONE)
    clients.remove_producer("P", TWO)
    assert not clients.producers_of("c")
    assert not clients._producers_by_id  # or each client ever heard of leaves something behind


def test_newer_subscription_replaces_an_older_one_without_being_a_change() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(consumer("G", "T", expression="a", sub_version=5), client(ONE))
    assert not clients.add_consumer(consumer("G", "T", expression="b", sub_version=6), client(ONE))
    assert clients.consumers["G"].subscriptions["T"].sub_string == "b"


@pytest.mark.parametrize("sub_version", [4, 5])
def test_subscription_that_is_no_newer_does_not_replace_one(sub_version: int) -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(consumer("G", "T", expression="a", sub_version=5), client(ONE))
    said = consumer("G", "T", expression="b", sub_version=sub_version)
    clients.add_consumer(said, client(TWO, "d"))
    assert clients.consumers["G"].subscriptions["T"].sub_string == "a"


def test_topic_that_is_not_named_any_more_goes() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(consumer("G", "T", "U"), client(ONE))
    assert clients.add_consumer(consumer("G", "U"), client(ONE))
    assert list(clients.consumers["G"].subscriptions) == ["U"]


def test_heartbeat_without_subscriptions_leaves_them() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(consumer("G", "T"), client(ONE))
    assert not clients.add_consumer(consumer("G"), client(ONE), keeps_subs=True)
    assert list(clients.consumers["G"].subscriptions) == ["T"]


def test_client_id_on_two_connections_is_listed_once_and_found_on_the_newer() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(consumer("G", "T"), client(ONE))
    clients.add_consumer(consumer("G", "T"), client(TWO))
    group = clients.consumers["G"]
    assert group.client_ids() == ["c"]
    found = group.find("c")
    assert found is not None
    assert found.channel is TWO


def test_another_client_id_on_a_connection_replaces_the_first() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(consumer("G", "T"), client(ONE, "c"))
    assert clients.add_consumer(consumer("G", "T"), client(ONE, "d"))
    assert clients.consumers["G"].client_ids() == ["d"]


def test_closed_connection_leaves_all_its_groups() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(consumer("G", "T"), client(ONE))
    clients.add_consumer(consumer("G", "T"), client(TWO, "d"))
    clients.add_consumer(consumer("H", "T"), client(ONE))
    clients.add_producer("P", client(ONE))
    assert clients.closed(ONE) == ["G", "H"]
    assert list(clients.consumers) == ["G"]
    assert clients.consumers["G"].client_ids() == ["d"]
    assert clients.producers == {}
    assert clients.closed(ONE) == []
    assert len(clients) == 1


def test_members_that_want_the_same_in_another_order_agree() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(by_tags("G", "T", "A", "B"), client(ONE))
    clients.add_consumer(by_tags("G", "T", "B", "A"), client(TWO, "d"))
    assert not clients.consumers["G"].disagrees


def test_members_that_want_other_tags_disagree_until_one_leaves() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(by_tags("G", "T", "A"), client(ONE))
    clients.add_consumer(by_tags("G", "T", "B"), client(TWO, "d"))
    assert clients.consumers["G"].disagrees
    clients.closed(TWO)
    assert not clients.consumers["G"].disagrees


def test_only_clients_without_a_recent_heartbeat_are_silent() -> None:
    clients = Clients(MemoryAccount(1 << 30))
    clients.add_consumer(consumer("G", "T"), client(ONE, heard_at=10.0))
    clients.add_producer("P", client(TWO, heard_at=11.0))
    assert [group for group, _ in clients.silent_consumers(10.0)] == ["G"]
    assert clients.silent_producers(10.0) == []


CHANNELS = [FakeChannel() for _ in range(3)]
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["consume", "produce", "stop consuming", "stop producing", "close"]),
        st.integers(0, 2),
        st.sampled_from("GH"),
        st.sampled_from(["c", "d"]),
        st.sampled_from(["T", "U"]),
    ),
    max_size=30,
)


@given(MOVES)
def test_tables_agree_with_a_plain_list_of_members(
    moves: list[tuple[str, int, str, str, str]],
) -> None:
    clients = Clients(MemoryAccount(1 << 30))
    consuming: dict[tuple[int, str], tuple[str, str]] = {}
    producing: set[tuple[int, str]] = set()
    for move, index, group, client_id, topic in moves:
        channel = CHANNELS[index]
        if move == "consume":
            clients.add_consumer(consumer(group, topic), client(channel, client_id))
            consuming[index, group] = (client_id, topic)
        elif move == "produce":
            clients.add_producer(group, client(channel, client_id))
            producing.add((index, group))
        elif move == "stop consuming":
            was_there = consuming.pop((index, group), None) is not None
            assert clients.remove_consumer(group, channel) == was_there
        elif move == "stop producing":
            assert clients.remove_producer(group, channel) == ((index, group) in producing)
            producing.discard((index, group))
        else:
            left = {key[1] for key in consuming if key[0] == index}
            assert set(clients.closed(channel)) == left
            consuming = {key: value for key, value in consuming.items() if key[0] != index}
            producing = {key for key in producing if key[0] != index}
    connected = {index for index, _ in [*consuming, *producing]}
    assert len(clients) == len(connected)
    assert set(clients.producers) == {group for _, group in producing}
    assert set(clients.consumers) == {group for _, group in consuming}
    for name, group_now in clients.consumers.items():
        members = [value for (_, group), value in consuming.items() if group == name]
        assert set(group_now.client_ids()) == {client_id for client_id, _ in members}
        assert group_now.disagrees == (len({topic for _, topic in members}) > 1)


def test_the_last_short_heartbeat_is_understood_without_being_read_again() -> None:
    data = HeartbeatData(client_id="c")
    memberships = Memberships()
    memberships.remember(bytes(REMEMBERED_BYTES_MAX + 1), data)
    assert memberships.understood(bytes(REMEMBERED_BYTES_MAX + 1)) is None
    assert memberships.understood(b"") is None
    memberships.remember(b"beat", data)
    assert memberships.understood(b"beat") is data
    assert memberships.understood(b"beat!") is None
