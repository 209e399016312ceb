"""Tests bodies about groups and queues against Java's text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from gantrymq.wire.bodies.consuming import queue_stats
from gantrymq.wire.bodies.consuming.consumption import (
    GroupForbidden,
    GroupList,
    QueryConsumeTimeSpanBody,
    QuerySubscriptionBody,
    time_text,
)
from gantrymq.wire.bodies.consuming.queue_stats import (
    ConsumedOffset,
    ConsumeStats,
    ConsumeStatsList,
    TopicStatsTable,
)
from gantrymq.wire.bodies.offsets import QueryCorrectionOffsetBody, ResetOffsetBody
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.javajson import dumps_fastjson, loads
from gantrymq.wire.jsonvalue import Json, JsonObject

VECTORS = Path(__file__).parents[3] / "vectors"
QUEUE = MessageQueue("TopicTest", "broker-a", 1)


class Body(Protocol):
    def to_json(self) -> JsonObject: ...


def text_of(name: str, release: str = "5.3.3") -> str:
    vectors = json.loads((VECTORS / f"bodies-{release}.json").read_text())
    text = next(each["json"] for each in vectors if each["name"].startswith(name))
    assert isinstance(text, str)
    return text


def exchanged(code: int) -> str:
    """The first answer of a real broker to this request."""
    traffic = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    text = next(each["response"]["bodyText"] for each in traffic if each["request"]["code"] == code)
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (text_of("GroupList"), GroupList.from_json),
        (text_of("QUERY_CONSUME_TIME_SPAN"), QueryConsumeTimeSpanBody.from_json),
        (text_of("QUERY_CORRECTION_OFFSET"), QueryCorrectionOffsetBody.from_json),
        (text_of("RESET offset body (Java)"), ResetOffsetBody.from_json),
        (exchanged(345), QuerySubscriptionBody.from_json),
        (exchanged(353), GroupForbidden.from_json),
        (exchanged(222), ResetOffsetBody.from_json),
        (exchanged(303), QueryConsumeTimeSpanBody.from_json),
    ],
)
def test_bodies_equal_javas(text: str, read: Callable[[Json], Body]) -> None:
    assert dumps_fastjson(read(loads(text)).to_json()).decode() == text


def test_a_reset_for_cpp_is_a_list() -> None:
    text = text_of("RESET offset body (C++)")
    body = ResetOffsetBody.from_json(loads(text))
    assert body.offsets == {QUEUE: 9}
    assert dumps_fastjson(body.to_json_for_cpp()).decode() == text


@pytest.mark.parametrize("text", [text_of("GET_TOPIC_STATS_INFO"), exchanged(202)])
def test_topic_stats_are_javas(text: str) -> None:
    table = TopicStatsTable.from_json(loads(text))
    entries = [queue_stats.entry(queue, offset) for queue, offset in table.queues.items()]
    assert queue_stats.topic_stats(entries, table.put_tps).decode() == text


def encoded(stats: ConsumeStats) -> bytes:
    entries = [queue_stats.entry(queue, offset) for queue, offset in stats.queues.items()]
    return queue_stats.consume_stats(entries, stats.consume_tps)


@pytest.mark.parametrize("text", [text_of("GET_CONSUME_STATS"), exchanged(208)])
def test_consume_stats_are_javas(text: str) -> None:
    assert encoded(ConsumeStats.from_json(loads(text))).decode() == text


def test_stats_of_4_9_have_no_pull_offsets() -> None:
    stats = ConsumeStats.from_json(loads(text_of("GET_CONSUME_STATS", "4.9.8")))
    assert stats.queues == {QUEUE: ConsumedOffset(5, 0)}


@pytest.mark.parametrize("text", [text_of("GET_BROKER_CONSUME_STATS"), exchanged(317)])
def test_the_stats_of_a_broker_are_javas(text: str) -> None:
    body = ConsumeStatsList.from_json(loads(text))
    groups = [queue_stats.group_stats(name, map(encoded, stats)) for name, stats in body.groups]
    again = queue_stats.consume_stats_list(
        body.broker_address or "", groups, body.total_diff, body.total_inflight_diff
    )
    assert again.decode() == text


def test_any_time_has_a_text() -> None:
    assert time_text(1_700_000_000_500) == "2023-11-14#22:13:20:500"
    assert time_text(-1) == "1969-12-31#23:59:59:999"
    assert time_text((1 << 63) - 1) == "9999-12-31#23:59:59:999"
