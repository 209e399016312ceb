"""Builds requests of legitimate clients and of attackers: header fields and bodies."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Final

SUSPEND: Final = 2
SUBSCRIPTION: Final = 4


def send(topic: str, properties: str = "", *, queue: int = 0, sys_flag: int = 0) -> dict[str, str]:
    """The header of SEND_MESSAGE_V2."""
    return {
        "a": "attack-producers", "b": topic, "c": "TBW102", "d": "4", "e": str(queue),
        "f": str(sys_flag), "g": str(time.time_ns() // 1_000_000), "h": "0", "i": properties,
        "j": "0", "k": "false", "m": "false",
    }  # fmt: skip


def properties(**pairs: str) -> str:
    """Properties of a message, as a header carries them."""
    return "".join(f"{name}\x01{value}\x02" for name, value in pairs.items())


def pull(
    topic: str,
    group: str,
    offset: int = 0,
    *,
    queue: int = 0,
    count: int = 32,
    suspend_ms: int = 0,
    expression: str = "*",
    expression_type: str = "TAG",
    **other: str,
) -> dict[str, str]:
    """The header of PULL_MESSAGE that carries its own subscription."""
    return {
        "consumerGroup": group,
        "topic": topic,
        "queueId": str(queue),
        "queueOffset": str(offset),
        "maxMsgNums": str(count),
        "sysFlag": str(SUBSCRIPTION | (SUSPEND if suspend_ms else 0)),
        "commitOffset": "0",
        "suspendTimeoutMillis": str(suspend_ms),
        "subscription": expression,
        "subVersion": "0",
        "expressionType": expression_type,
        **other,
    }


def pop(topic: str, group: str, *, invisible_ms: int = 1_000, **other: str) -> dict[str, str]:
    """The header of POP_MESSAGE."""
    return {
        "consumerGroup": group,
        "topic": topic,
        "queueId": "-1",
        "maxMsgNums": "32",
        "invisibleTime": str(invisible_ms),
        "pollTime": "0",
        "bornTime": str(time.time_ns() // 1_000_000),
        "initMode": "0",
        "exp": "*",
        "expType": "TAG",
        **other,
    }


def topic(name: str, queues: int = 4, **other: str) -> dict[str, str]:
    """The header of UPDATE_AND_CREATE_TOPIC."""
    return {
        "topic": name,
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues),
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
        **other,
    }


def heartbeat(client_id: str, group: str, topics: Sequence[str], expression: str = "*") -> bytes:
    """The body of HEART_BEAT of a client with one consumer group."""
    subscriptions = [
        {
            "topic": name,
            "subString": expression,
            "expressionType": "TAG",
            "tagsSet": [],
            "codeSet": [],
            "subVersion": 1,
            "classFilterMode": False,
        }
        for name in topics
    ]
    consumer = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "subscriptionDataSet": subscriptions,
        "unitMode": False,
    }
    body = {"clientID": client_id, "consumerDataSet": [consumer], "producerDataSet": []}
    return json.dumps(body).encode()


def registration(broker: str, address: str, topics: Sequence[str]) -> tuple[dict[str, str], bytes]:
    """Header and body of REGISTER_BROKER."""
    ext = {
        "brokerName": broker,
        "brokerAddr": address,
        "clusterName": "DefaultCluster",
        "haServerAddr": address,
        "brokerId": "0",
        "compressed": "false",
    }
    table: Mapping[str, object] = {
        name: {"topicName": name, "readQueueNums": 4, "writeQueueNums": 4, "perm": 6}
        for name in topics
    }
    wrapper = {
        "dataVersion": {"counter": 1, "stateVersion": 0, "timestamp": time.time_ns() // 1_000_000},
        "topicConfigTable": table,
    }
    body = {"filterServerList": [], "topicConfigSerializeWrapper": wrapper}
    return ext, json.dumps(body).encode()
