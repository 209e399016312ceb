"""Makes the tables of a broker that has as many of all objects as it may reasonably have.

TOPICS topics of 8 queues; WIDE is one topic with as many queues as a topic may have
GROUPS groups, each with offsets in 8 topics; all of them consume COMMON as well
EAGER, a group with an offset in every topic
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from gantrymq.attack import requests
from gantrymq.broker.core.processor.admin.topic_requests import QUEUES_MAX
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.header import field_kinds
from gantrymq.wire.headers.table import REQUEST_HEADERS

TOPICS: Final = 20_000
GROUPS: Final = 2_000
QUEUES: Final = 8
COMMON: Final = "topic-00000"
WIDE: Final = "wide-topic"
EAGER: Final = "eager-group"


_LETTER_CODES: Final = frozenset(
    {
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
    }
)


def topic_name(number: int) -> str:
    """The name of a topic; number 0 is COMMON."""
    return f"topic-{number % TOPICS:05}"


def group_name(number: int) -> str:
    """The name of a group."""
    return f"group-{number % GROUPS:05}"


def write_tables(config: Path) -> None:
    """Write the files of `config`, the folder of that name in a store that does not exist yet."""
    config.mkdir(parents=True)
    for name, content in tables(TOPICS, GROUPS).items():
        (config / name).write_bytes(content)


def tables(topic_count: int, group_count: int) -> dict[str, bytes]:
    """The files of the folder `config`, by name, with so many topics and groups."""
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1_700_000_000_000}
    topics = {
        topic_name(number): _topic(topic_name(number), QUEUES) for number in range(topic_count)
    }
    topics[WIDE] = _topic(WIDE, QUEUES_MAX)
    groups = {name: {"groupName": name} for name in map(group_name, range(group_count))}
    groups[EAGER] = {"groupName": EAGER}
    offsets = {str(queue): 0 for queue in range(QUEUES)}
    table = {f"{topic_name(number)}@{EAGER}": offsets for number in range(topic_count)}
    for number in range(group_count):
        table[f"{COMMON}@{group_name(number)}"] = offsets
        for each in range(8):
            table[f"{topic_name(8 * number + each)}@{group_name(number)}"] = offsets
    table[f"{WIDE}@{group_name(0)}"] = {str(queue): 0 for queue in range(QUEUES_MAX)}
    files: dict[str, dict[str, object]] = {
        "topics.json": {"topicConfigTable": topics},
        "subscriptionGroup.json": {"forbiddenTable": {}, "subscriptionGroupTable": groups},
        "consumerOffset.json": {"offsetTable": table},
    }
    return {
        name: json.dumps({"dataVersion": version, **content}).encode()
        for name, content in files.items()
    }


def _topic(name: str, queues: int) -> dict[str, object]:
    return {
        "topicName": name,
        "readQueueNums": queues,
        "writeQueueNums": queues,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": False,
        "attributes": {},
    }


def plausible(code: int, topic: str, group: str) -> dict[str, str]:
    """Header fields with which a request about this topic and group could be carried out."""
    header = REQUEST_HEADERS.get(RequestCode(code))
    kinds = {} if header is None else field_kinds(header)
    if code in _LETTER_CODES:
        names = {"a": group, "b": topic}
    else:
        names = {
            name: topic if "topic" in name.lower() else group
            for name, kind in kinds.items()
            if kind == "s" and ("topic" in name.lower() or "group" in name.lower())
        }
    values = {"s": "x", "b": "false"}
    return {name: names.get(name, values.get(kind, "0")) for name, kind in kinds.items()}


def bodies(code: int, topic: str, group: str) -> bytes:
    """The body of a request that has one, with as many entries as a client may have."""
    queues = [{"topic": topic, "brokerName": "broker-a", "queueId": each} for each in range(5_000)]
    topics = [{"topicName": f"new-{each}", "perm": 6} for each in range(5_000)]
    table: dict[int, object] = {
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: {"topicConfigList": topics},
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: {
            "groupConfigList": [{"groupName": f"new-{each}"} for each in range(5_000)]
        },
        RequestCode.LOCK_BATCH_MQ: {"consumerGroup": group, "clientId": "c", "mqSet": queues},
        RequestCode.UNLOCK_BATCH_MQ: {"consumerGroup": group, "clientId": "c", "mqSet": queues},
        RequestCode.QUERY_ASSIGNMENT: {
            "topic": topic,
            "consumerGroup": group,
            "clientId": "client",
            "strategyName": "AVG",
            "messageModel": "CLUSTERING",
        },
    }
    if code == RequestCode.HEART_BEAT:
        return requests.heartbeat("client", group, [topic, *map(topic_name, range(2_000))])
    return json.dumps(table[code]).encode() if code in table else b""
