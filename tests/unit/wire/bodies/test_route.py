"""Tests route, topic list, cluster and KV bodies against what the Java libraries wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.wire import javajson
from gantrymq.wire.bodies import kv
from gantrymq.wire.bodies.cluster import BrokerMemberGroup, ClusterInfo
from gantrymq.wire.bodies.route import BrokerData, QueueData, TopicRouteData
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.jsonvalue import Json, JsonObject

VECTORS = Path(__file__).parents[3] / "vectors"

RoundTrip = Callable[[Json], JsonObject]

BODIES: dict[str, RoundTrip] = {
    "TopicRouteData": lambda value: TopicRouteData.from_json(value).to_json(),
    "ClusterInfo": lambda value: ClusterInfo.from_json(value).to_json(),
    "TopicList": lambda value: TopicList.from_json(value).to_json(),
    "KVTable": lambda value: kv.kv_table_to_json(kv.kv_table_from_json(value)),
    "GetBrokerMemberGroupResponseBody": lambda value: BrokerMemberGroup.from_json(value).to_json(),
}


def samples() -> list[tuple[str, str, str | None]]:
    """(class, fastjson's text, standard text) of 5.3.3."""
    vectors = json.loads((VECTORS / "bodies-5.3.3.json").read_text())
    return [
        (vector["class"], vector["json"], vector.get("jsonStandard"))
        for vector in vectors
        if vector.get("class") in BODIES
    ]


def test_every_body_has_a_sample() -> None:
    assert {name for name, _, _ in samples()} == set(BODIES)


@pytest.mark.parametrize(("name", "fastjson", "standard"), samples())
def test_body_of_java_is_written_identically(
    name: str, fastjson: str, standard: str | None
) -> None:
    for text in filter(None, (fastjson, standard)):
        again = BODIES[name](javajson.loads(text))
        assert javajson.dumps_fastjson(again).decode() == fastjson
        assert standard is None or javajson.dumps_standard(again).decode() == standard


@pytest.mark.parametrize(("name", "fastjson", "standard"), samples())
def test_truncated_or_damaged_body_is_read_or_refused(
    name: str, fastjson: str, standard: str | None
) -> None:
    data = (standard or fastjson).encode()
    cuts = [data[:at] for at in range(len(data))]
    damaged = [data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :] for at in range(len(data))]
    for text in cuts + damaged:
        try:
            again = BODIES[name](javajson.loads(text))
        except RemoteError:
            continue
        assert BODIES[name](again) == again


def test_a_4_9_route_reads_like_a_5_x_one() -> None:
    vectors = json.loads((VECTORS / "bodies-4.9.8.json").read_text())
    text = next(v["json"] for v in vectors if v["name"].startswith("GET_ROUTEINFO"))
    route = TopicRouteData.from_json(javajson.loads(text))
    assert route.queues == (QueueData("broker-a", 4, 4, 6, 0),)
    addresses = {0: "127.0.0.1:10911", 1: "127.0.0.1:10921"}
    assert route.brokers == (BrokerData("DefaultCluster", "broker-a", addresses),)


def test_the_misspelt_flag_of_old_brokers_is_read() -> None:
    queue = QueueData.from_json({"brokerName": "a", "perm": 6, "topicSynFlag": 3})
    assert queue.topic_sys_flag == 3


def test_filter_servers_and_zone_survive() -> None:
    route = TopicRouteData(
        queues=(QueueData("a", 1, 2, 6),),
        brokers=(BrokerData("C", "a", {0: "h:1"}, enable_acting_master=True, zone_name="z"),),
        filter_servers={"h:1": ("f:1", "f:2")},
        order_topic_conf="a:1",
    )
    text = javajson.dumps_standard(route.to_json())
    assert TopicRouteData.from_json(javajson.loads(text)) == route


def test_null_members_are_dropped() -> None:
    assert TopicList.from_json({"topicList": ["T", None]}).topics == ("T",)
    assert BrokerData.from_json({"brokerName": "a", "brokerAddrs": {0: None}}).addresses == {}


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"brokerDatas":{}}', '{"queueDatas":[1]}', '{"queueDatas":[{"perm":6}]}']
)
def test_a_route_of_another_shape_is_refused_or_empty(text: str) -> None:
    if text == "{}":
        assert TopicRouteData.from_json(javajson.loads(text)) == TopicRouteData()
        return
    with pytest.raises(RemoteError):
        TopicRouteData.from_json(javajson.loads(text))


def test_the_kv_file_of_java_is_read_and_written_as_it_is() -> None:
    text = (VECTORS / "namesrv-kvConfig-5.3.3.json.txt").read_text()
    tables = kv.kv_config_from_json(javajson.loads(text))
    assert tables == {"ORDER_TOPIC_CONFIG": {"VecOrder": "broker-v:2"}, "ns1": {"k": "v"}}
    assert javajson.dumps_fastjson(kv.kv_config_to_json(tables)).decode() == text


def test_an_emptied_namespace_stays_in_the_file() -> None:
    tables: dict[str, dict[str, str]] = {"n": {}}
    text = javajson.dumps_fastjson(kv.kv_config_to_json(tables))
    assert kv.kv_config_from_json(javajson.loads(text)) == tables


def test_an_empty_kv_file_is_no_configuration() -> None:
    assert kv.kv_config_from_json(javajson.loads(b"")) == {}
