"""Tests that tables of masters are parsed only if they have changed."""

from __future__ import annotations

import json

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.operator.brokers.topic_tables import Master, TopicTables
from gantrymq.operator.topics.values import BrokerTopic
from gantrymq.wire.bodies.shared import TopicConfig

FIRST = Master("orders", "broker-0", "m:1")
SECOND = Master("orders", "broker-1", "m:2")


def answer(*configs: TopicConfig, counter: int = 1) -> bytes:
    table = {each.topic_name: each.to_json() for each in configs}
    return json.dumps({"dataVersion": {"counter": counter}, "topicConfigTable": table}).encode()


def test_a_table_is_read_and_equal_topics_are_one_object() -> None:
    tables = TopicTables()
    body = answer(TopicConfig("a", 4, 2, attributes={"k": "v"}), TopicConfig("b"), TopicConfig("c"))
    table = tables.read(FIRST, body, frozenset({"TBW102"}))
    assert table.topics["a"] == BrokerTopic(2, 4, attributes=(("k", "v"),))
    assert table.topics["b"] is table.topics["c"]
    assert table.system == {"TBW102"}
    assert tables.system(FIRST) == frozenset({"TBW102"})


def test_the_same_answer_is_the_same_table() -> None:
    tables = TopicTables()
    first = tables.read(FIRST, answer(TopicConfig("a")), frozenset())
    assert tables.read(FIRST, answer(TopicConfig("a")), frozenset()) is first
    later = tables.read(FIRST, answer(TopicConfig("a"), counter=2), frozenset())
    assert later.version != first.version
    assert later.topics == first.topics


def test_masters_that_are_not_kept_are_forgotten() -> None:
    tables = TopicTables()
    tables.read(FIRST, answer(), frozenset())
    tables.read(SECOND, answer(), frozenset())
    tables.keep(frozenset({SECOND}))
    assert tables.system(FIRST) is None
    assert tables.system(SECOND) is not None


def test_an_address_that_another_group_got_has_no_table_yet() -> None:
    tables = TopicTables()
    tables.read(FIRST, answer(), frozenset({"broker-0"}))
    assert tables.system(Master("orders", "broker-1", FIRST.address)) is None


def test_a_forgotten_table_is_read_again() -> None:
    tables = TopicTables()
    first = tables.read(FIRST, answer(TopicConfig("a")), frozenset({"old"}))
    tables.forget(FIRST)
    assert tables.system(FIRST) is None
    assert tables.read(FIRST, answer(TopicConfig("a")), frozenset({"new"})) is not first


@pytest.mark.parametrize(
    ("topics", "lacks"),
    [
        (("orders", "broker-0", "orders_REPLY_TOPIC", "t"), ()),
        (("orders", "broker-1", "orders_REPLY_TOPIC"), ("broker-0",)),
        (("orders", "broker-0", "payments_REPLY_TOPIC"), ("orders_REPLY_TOPIC",)),
        ((), ("orders", "broker-0", "orders_REPLY_TOPIC")),
    ],
)
def test_the_table_of_another_broker_lacks_topics_named_after_this_one(
    topics: tuple[str, ...], lacks: tuple[str, ...]
) -> None:
    table = TopicTables().read(FIRST, answer(*map(TopicConfig, topics)), frozenset())
    assert FIRST.lacks(table) == lacks


@pytest.mark.parametrize("body", [b"[]", b'{"topicConfigTable":{"a":1}}', b"{"])
def test_an_answer_that_is_no_table_is_refused(body: bytes) -> None:
    with pytest.raises(RemoteError):
        TopicTables().read(FIRST, body, frozenset())
