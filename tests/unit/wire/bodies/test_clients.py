"""Tests bodies about connected clients and their locks: read and written as in Java."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.wire import javajson
from gantrymq.wire.bodies.connections import (
    ConsumerConnection,
    ConsumerIds,
    ConsumerStatus,
    ProducerConnection,
    ProducerTable,
    language_name,
)
from gantrymq.wire.bodies.heartbeat import HeartbeatData
from gantrymq.wire.bodies.locks import LockedQueues, QueuesOfClient
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import Json

VECTORS = Path(__file__).parents[3] / "vectors" / "bodies-5.3.3.json"
QUEUE = MessageQueue("TopicTest", "broker-a", 1)

READ_AND_WRITE: dict[str, Callable[[Json], Json]] = {
    "HEART_BEAT request": lambda value: HeartbeatData.from_json(value).to_json(),
    "LOCK_BATCH_MQ request": lambda value: QueuesOfClient.from_json(value).to_json(),
    "UNLOCK_BATCH_MQ request": lambda value: QueuesOfClient.from_json(value).to_json(),
    "LOCK_BATCH_MQ response": lambda value: LockedQueues.from_json(value).to_json(),
    "GET_CONSUMER_CONNECTION_LIST response": (
        lambda value: ConsumerConnection.from_json(value).to_json()
    ),
    "GET_PRODUCER_CONNECTION_LIST response": (
        lambda value: ProducerConnection.from_json(value).to_json()
    ),
    "GET_ALL_PRODUCER_INFO response": lambda value: ProducerTable.from_json(value).to_json(),
    "GET_CONSUMER_LIST_BY_GROUP response": lambda value: ConsumerIds.from_json(value).to_json(),
}


def java_text(name: str) -> str:
    texts = {vector["name"]: vector.get("json") for vector in json.loads(VECTORS.read_text())}
    text = texts[name]
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("name", READ_AND_WRITE)
def test_java_text_survives_the_way_there_and_back(name: str) -> None:
    text = java_text(name)
    value = READ_AND_WRITE[name](javajson.loads(text))
    assert javajson.dumps_fastjson(value).decode() == text


def test_progress_by_client_reads_what_java_writes() -> None:
    # Java writes the second table's key as a reference into the first, which no reader resolves.
    text = java_text("GET_CONSUMER_STATUS body").partition(',"messageQueueTable"')[0] + "}"
    status = ConsumerStatus.from_json(javajson.loads(text))
    assert status.by_client == {"cid": {QUEUE: 9}}
    assert javajson.dumps_fastjson(status.to_json()).decode() == (
        text[:-1] + ',"messageQueueTable":{}}'
    )


def test_queue_that_is_named_twice_is_one_queue() -> None:
    bean = QueuesOfClient(client_id="c", consumer_group="G", queues=(QUEUE, QUEUE)).to_json()
    assert QueuesOfClient.from_json(bean).queues == (QUEUE,)


def test_absent_sets_are_empty() -> None:
    assert QueuesOfClient.from_json({"clientId": "c", "consumerGroup": "G"}).queues == ()
    assert ConsumerStatus.from_json({}) == ConsumerStatus()


@pytest.mark.parametrize(
    "value", [None, [], {}, {"clientId": "c"}, {"clientId": "c", "consumerGroup": "G", "mqSet": {}}]
)
def test_malformed_lock_request_is_refused(value: Json) -> None:
    with pytest.raises(RemoteError):
        QueuesOfClient.from_json(value)


@pytest.mark.parametrize(("code", "name"), [(0, "JAVA"), (9, "GO"), (13, "NODE_JS"), (-1, "OTHER")])
def test_languages_have_java_s_names(code: int, name: str) -> None:
    assert language_name(code) == name
