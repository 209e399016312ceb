"""Pull consumers describe themselves in heartbeats, and answer the requests of operators."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.pull_consumers import FIRST, QUEUES, Reader, stored
from gantrymq.wire import javajson
from gantrymq.wire.bodies.offsets import ResetOffsetBody
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.jsonvalue import JsonObject, object_of


def test_heartbeat_data_has_consume_type_and_subscriptions() -> None:
    reader = Reader(Cluster())
    reader.lite.subscribe("T", "a")
    data = reader.lite.data
    assert (data.consume_type, data.message_model) == ("CONSUME_ACTIVELY", "CLUSTERING")
    assert [each.topic for each in data.subscriptions] == ["T"]
    assert list(reader.lite.topics) == ["T"]


def asked(reader: Reader, code: RequestCode, ext: dict[str, str], body: bytes = b"") -> JsonObject:
    answer = reader.client.run(reader.instance.serve("broker", Command(code, ext=ext, body=body)))
    return {} if answer is None else object_of(javajson.loads(answer.body), "an answer")


def test_operators_get_the_running_info() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", replace(FIRST, pull_batch=1), QUEUES[0])
    assert reader.poll() == ["a"]
    assert reader.poll() == ["b"]
    key = QUEUES[0].to_key()
    bean = asked(reader, RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G"})
    properties = object_of(bean["properties"], "properties")
    assert properties["PROP_CONSUME_TYPE"] == "CONSUME_ACTIVELY"
    queue = object_of(object_of(bean["mqTable"], "queues")[key], "a queue")
    assert (queue["commitOffset"], queue["cachedMsgCount"], queue["cachedMsgMinOffset"]) == (
        1,
        1,
        2,
    )
    ext = {"group": "G", "topic": "T"}
    bean = asked(reader, RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, ext)
    assert bean["messageQueueTable"] == {key: 1}


def test_operators_reset_the_offset() -> None:
    """Without the reset the consumer would overwrite the offset with its own progress."""
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    assert reader.poll() == ["a", "b", "c"]
    ext = {"group": "G", "topic": "T", "timestamp": "0", "isForce": "true"}
    body = javajson.dumps_fastjson(ResetOffsetBody({QUEUES[0]: 1}).to_json())
    asked(reader, RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, body)
    cluster.pass_time(6.0)
    assert stored(cluster) == 1
    assert reader.poll() == ["b", "c"]
    reader.client.run(reader.lite.close())
    assert stored(cluster) == 3
