"""What a Java broker answered to real clients, and what it stored of their messages."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gantrymq.broker.core.engine import tasks
from gantrymq.fakes.brokers.broker import IDENTITY, OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record

VECTORS = Path(__file__).parents[3] / "vectors"
JAVA = replace(IDENTITY, name="broker-v", cluster="VecCluster", address="127.0.0.1:20911")
SENDS = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)

# Captured JSON: what is in it is what the test is about.
Exchange = dict[str, Any]


def exchanges(*codes: int) -> list[Exchange]:
    captured = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    found = captured if isinstance(captured, list) else captured["exchanges"]
    return [each for each in found if each["request"]["code"] in codes]


def command_of(exchange: Exchange) -> Command:
    (command,) = FrameReader().decode(bytes.fromhex(exchange["request"]["frame"]))
    return command


def java_records(topic: str) -> list[Exchange]:
    contents = json.loads((VECTORS / "store-5.3.3-clean.contents.json").read_text())
    return [each for each in contents["commitlog"] if each.get("topic") == topic]


def opened() -> OpenedBroker:
    broker = OpenedBroker(identity=JAVA)
    for topic in ("VecTopic", "VecReq"):
        add_topic(broker, topic)
    return broker


def taken(broker: OpenedBroker, command: Command) -> Command | None:
    request = broker.send(
        RequestCode(command.code),
        ext=command.ext,
        body=command.body,
        is_oneway=command.is_oneway,
        version=command.version,
    )
    return broker.answer(request)


@pytest.mark.parametrize("exchange", exchanges(*SENDS))
def test_clients_are_answered_as_by_java(exchange: Exchange) -> None:
    answer = taken(opened(), command_of(exchange))
    expected = exchange.get("response")
    if not expected:
        assert answer is None
        return
    assert answer is not None
    assert (answer.code, answer.remark) == (expected["code"], expected.get("remark"))
    ours, javas = answer.ext or {}, expected["ext"]
    places = {"msgId", "queueOffset"}
    assert ours.keys() == javas.keys()
    assert {name: ours[name] for name in ours.keys() - places} == {
        name: javas[name] for name in javas.keys() - places
    }
    assert ours["msgId"].count(",") == javas["msgId"].count(",")


def facts(record: Record) -> Exchange:
    return {
        "sysFlag": record.sys_flag,
        "flag": record.flag,
        "reconsumeTimes": record.reconsume_times,
        "bornTimestamp": record.born_timestamp_ms,
        "bodyLen": len(record.body),
        "properties": properties.parse(record.properties),
    }


def test_messages_are_stored_with_javas_properties() -> None:
    compared = 0
    for exchange in exchanges(*SENDS):
        broker = opened()
        taken(broker, command_of(exchange))
        ours = [
            facts(record)
            for queue_id in range(4)
            for record in broker.opened.records("VecTopic", queue_id)
        ]
        javas = {
            (each["bornTimestamp"], json.dumps(each["properties"], sort_keys=True)): each
            for each in java_records("VecTopic")
        }
        for one in ours:
            key = (one["bornTimestamp"], json.dumps(one["properties"], sort_keys=True))
            assert one.items() <= javas[key].items()
            compared += 1
    assert compared >= 9


def test_what_consumers_send_back_is_stored_as_by_java() -> None:
    (first,) = [
        each for each in java_records("VecTopic") if each["properties"].get("KEYS") == "zipkey"
    ]
    (waiting,) = [
        each for each in java_records("SCHEDULE_TOPIC_XXXX") if each["reconsumeTimes"] == 1
    ]
    (dead,) = java_records("%DLQ%VecGroup")
    broker = opened()
    store(broker, record_of(first))
    for exchange, expected, topic, queue_id in zip(
        exchanges(RequestCode.CONSUMER_SEND_MSG_BACK),
        (waiting, dead),
        ("SCHEDULE_TOPIC_XXXX", "%DLQ%VecGroup"),
        (2, 0),
        strict=True,
    ):
        command = command_of(exchange)
        known = broker.opened.records("%RETRY%VecGroup", 0)
        position = known[-1].physical_offset if known else 0
        command.ext = {**(command.ext or {}), "offset": str(position)}
        answer = taken(broker, command)
        assert answer is not None
        assert (answer.code, answer.ext) == (0, exchange["response"].get("ext"))
        ours = facts(broker.opened.records(topic, queue_id)[-1])
        origin = ours["properties"].pop("ORIGIN_MESSAGE_ID")
        assert origin == "7F000001000051AF" + "0" * 16
        assert expected["properties"].pop("ORIGIN_MESSAGE_ID")
        assert ours.items() <= expected.items()
        broker.pass_time(20.0)


def store(broker: OpenedBroker, record: Record) -> None:
    def failed(error: Exception) -> None:
        raise error

    broker.state.task_runner.start(tasks.put(record), lambda _: None, failed)
    broker.settle()


def record_of(javas: Exchange) -> Record:
    return Record(
        javas["topic"].encode(),
        bytes.fromhex(javas["bodyHex"]),
        properties=properties.encode(javas["properties"]),
        queue_id=javas["queueId"],
        sys_flag=javas["sysFlag"],
        born_timestamp_ms=javas["bornTimestamp"],
        born_host=JAVA.store_host,
        store_host=JAVA.store_host,
    )
