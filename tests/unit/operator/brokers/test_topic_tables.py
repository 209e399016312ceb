"""Tables of masters, taken apart only when they changed."""

from __future__ import annotations

import json

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.operator.brokers.topic_tables import TopicTables
from gantrymq.operator.topics.values import BrokerTopic
from gantrymq.wire.bodies.shared import TopicConfig


def answer(*configs: TopicConfig, counter: int = 1) -> bytes:
    table = {each.topic_name: each.to_json() for each in configs}
    return json.dumps({"dataVersion": {"counter": counter}, "topicConfigTable": table}).encode()


def test_a_table_is_read_and_equal_topics_are_one_object() -> None:
    tables = TopicTables()
    body = answer(TopicConfig("a", 4, 2, attributes={"k": "v"}), TopicConfig("b"), TopicConfig("c"))
    table = tables.read("m:1", body, frozenset({"TBW102"}))
    assert table.topics["a"] == BrokerTopic(2, 4, attributes=(("k", "v"),))
    assert table.topics["b"] is table.topics["c"]
    assert table.system == {"TBW102"}
    assert tables.system("m:1") == frozenset({"TBW102"})


def test_the_same_answer_is_the_same_table() -> None:
    tables = TopicTables()
    first = tables.read("m:1", answer(TopicConfig("a")), frozenset())
    assert tables.read("m:1", answer(TopicConfig("a")), frozenset()) is first
    later = tables.read("m:1", answer(TopicConfig("a"), counter=2), frozenset())
    assert later.version != first.version
    assert later.topics == first.topics


def test_masters_that_are_not_kept_are_forgotten() -> None:
    tables = TopicTables()
    tables.read("m:1", answer(), frozenset())
    tables.read("m:2", answer(), frozenset())
    tables.keep(frozenset({"m:2"}))
    assert tables.system("m:1") is None
    assert tables.system("m:2") is not None


@pytest.mark.parametrize("body", [b"[]", b'{"topicConfigTable":{"a":1}}', b"{"])
def test_an_answer_that_is_no_table_is_refused(body: bytes) -> None:
    with pytest.raises(RemoteError):
        TopicTables().read("m:1", body, frozenset())
