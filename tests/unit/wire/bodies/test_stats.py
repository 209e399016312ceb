"""Tests statistics, units of queues and the state of slaves against Java's text."""

from __future__ import annotations

import json
from pathlib import Path

from gantrymq.wire.bodies.consuming.consume_queue import ConsumeQueueBody, QueueUnit
from gantrymq.wire.bodies.consuming.stats import BrokerStatsData, StatsItem
from gantrymq.wire.bodies.ha_status import HaStatus, SlaveStatus
from gantrymq.wire.javajson import dumps_fastjson, loads

VECTORS = Path(__file__).parents[3] / "vectors"


def vector(name: str) -> str:
    vectors = json.loads((VECTORS / "bodies-5.3.3.json").read_text())
    return next(str(each["json"]) for each in vectors if each["name"] == name)


def answers(code: int) -> list[str]:
    exchanges = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    found = [each["response"] for each in exchanges if each["request"]["code"] == code]
    return [str(each["bodyText"]) for each in found if each.get("bodyText")]


def test_statistics_with_javas_references_are_read() -> None:
    data = BrokerStatsData.from_json(
        loads(vector("VIEW_BROKER_STATS_DATA response"), references=True)
    )
    assert data == BrokerStatsData(*[StatsItem(3, 1.5, 2.0)] * 3)


def test_statistics_are_written_as_java_writes_them() -> None:
    text = answers(315)[0]
    data = BrokerStatsData.from_json(loads(text))
    assert dumps_fastjson(data.to_json()).decode() == text


def test_units_of_a_queue_are_javas() -> None:
    for text in (vector("QUERY_CONSUME_QUEUE response"), *answers(321)):
        body = ConsumeQueueBody.from_json(loads(text))
        assert dumps_fastjson(body.to_json()).decode() == text


def test_unit_may_carry_an_error_text() -> None:
    unit = QueueUnit(1, 2, 3, remark="damaged")
    assert QueueUnit.from_json(unit.to_json()) == unit


def test_the_state_of_slaves_is_javas() -> None:
    texts = [vector("GET_BROKER_HA_STATUS response"), *answers(907)]
    for text in texts:
        status = HaStatus.from_json(loads(text))
        assert dumps_fastjson(status.to_json()).decode() == text
    slave = HaStatus.from_json(loads(texts[0])).slaves[0]
    assert slave == SlaveStatus(
        address="127.0.0.1:5555",
        behind_bytes=0,
        is_in_sync=True,
        acknowledged=100,
        sends_from=0,
    )
