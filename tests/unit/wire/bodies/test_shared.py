"""Tests the shared values against Java's text, of 4.9 and 5.x."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.wire.bodies.shared import (
    DataVersion,
    MessageQueue,
    Permission,
    TopicConfig,
    TopicFilterType,
)
from gantrymq.wire.javajson import dumps_fastjson, loads
from gantrymq.wire.jsonvalue import Json, JsonObject

VECTORS = Path(__file__).parents[3] / "vectors"


def body(release: str, name: str) -> JsonObject:
    vectors = json.loads((VECTORS / f"bodies-{release}.json").read_text())
    value = loads(next(each["json"] for each in vectors if each["name"] == name))
    assert isinstance(value, dict)
    return value


def test_data_version_equals_javas() -> None:
    value = body("5.3.3", "DataVersion")
    version = DataVersion.from_json(value)
    assert version == DataVersion(timestamp_ms=1700000000000, counter=3, state_version=0)
    assert dumps_fastjson(version.to_json()) == dumps_fastjson(value)


def test_a_data_version_of_4_9_has_state_version_0() -> None:
    assert DataVersion.from_json(body("4.9.8", "DataVersion")) == DataVersion(1700000000000, 3, 0)


def test_the_next_version_counts_on() -> None:
    assert DataVersion(5, 3, 1).next(7) == DataVersion(7, 4, 0)
    assert DataVersion(5, 3).next(7, state_version=2) != DataVersion(5, 3).next(7)


def _topics(release: str, name: str) -> JsonObject:
    table = body(release, name)["topicConfigTable"]
    assert isinstance(table, dict)
    return table


def test_topics_equal_javas() -> None:
    table = _topics("5.3.3", "topics.json content")
    topics = {str(name): TopicConfig.from_json(value) for name, value in table.items()}
    assert topics["TopicAttr"].attributes == {"message.type": "FIFO"}
    assert topics["TopicAttr"].order is True
    written: JsonObject = {name: topic.to_json() for name, topic in topics.items()}
    assert dumps_fastjson(written) == dumps_fastjson(table)


def test_a_topic_of_4_9_has_no_attributes() -> None:
    table = _topics("4.9.8", "topics.json / GET_ALL_TOPIC_CONFIG")
    topic = TopicConfig.from_json(table["TopicTest"])
    assert topic == TopicConfig("TopicTest", read_queue_nums=4, write_queue_nums=4)


def test_a_topics_absent_properties_are_javas_defaults() -> None:
    topic = TopicConfig.from_json({"topicName": "T", "topicFilterType": "UNHEARD_OF"})
    assert (topic.read_queue_nums, topic.write_queue_nums) == (16, 16)
    assert topic.perm == Permission.READ | Permission.WRITE
    assert topic.topic_filter_type is TopicFilterType.SINGLE_TAG


@pytest.mark.parametrize(
    "value", [None, [], {}, {"topicName": None}, {"topicName": "T", "perm": "x"}]
)
def test_malformed_topic_is_refused(value: Json) -> None:
    with pytest.raises(RemoteError):
        TopicConfig.from_json(value)


def test_a_message_queue_is_a_value_or_a_key() -> None:
    queue = MessageQueue(topic="TopicTest", broker_name="broker-a", queue_id=1)
    value = body("5.3.3", "RESET offset body (Java)")
    table = value["offsetTable"]
    assert isinstance(table, dict)
    assert {MessageQueue.from_key(key): offset for key, offset in table.items()} == {queue: 9}
    assert dumps_fastjson({"offsetTable": {queue.to_key(): 9}}) == dumps_fastjson(value)
    assert MessageQueue.from_json(queue.to_json()) == queue


def test_a_key_that_is_no_queue_is_refused() -> None:
    for key in ("text", 5):
        with pytest.raises(RemoteError, match="is no message queue"):
            MessageQueue.from_key(key)


def test_queues_are_ordered_by_topic_broker_and_number() -> None:
    queues = [
        MessageQueue("B", "a", 0),
        MessageQueue("A", "c", 0),
        MessageQueue("A", "b", 10),
        MessageQueue("A", "b", 2),
    ]
    assert sorted(queues) == queues[::-1]


INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
TOPICS = st.builds(
    TopicConfig,
    st.text(),
    INT,
    INT,
    INT,
    st.sampled_from(TopicFilterType),
    INT,
    st.booleans(),
    st.dictionaries(st.text(), st.text()),
)


@given(TOPICS, st.builds(DataVersion, LONG, LONG, LONG))
def test_values_survive_the_round_trip(topic: TopicConfig, version: DataVersion) -> None:
    assert TopicConfig.from_json(loads(dumps_fastjson(topic.to_json()))) == topic
    assert DataVersion.from_json(loads(dumps_fastjson(version.to_json()))) == version
