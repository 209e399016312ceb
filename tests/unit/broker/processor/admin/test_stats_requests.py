"""Tests VIEW_BROKER_STATS_DATA against the statistics."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.stats import BrokerStatsData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.admin import ViewBrokerStatsRequest


def view(broker: OpenedBroker, name: str, key: str) -> Command:
    header = ViewBrokerStatsRequest(stats_name=name, stats_key=key)
    return broker.ask(RequestCode.VIEW_BROKER_STATS_DATA, header)


@pytest.fixture
def broker() -> OpenedBroker:
    broker = OpenedBroker()
    stats = broker.state.stats
    stats.sent("T", 3, 300)
    stats.got("G", "T", 2, 200)
    stats.sent_back("G", "T")
    broker.pass_time(10.0)
    return broker


@pytest.mark.parametrize(
    ("name", "key", "total"),
    [
        ("TOPIC_PUT_NUMS", "T", 3),
        ("TOPIC_PUT_SIZE", "T", 300),
        ("GROUP_GET_NUMS", "T@G", 2),
        ("GROUP_GET_SIZE", "T@G", 200),
        ("SNDBCK_PUT_NUMS", "T@G", 1),
        ("BROKER_PUT_NUMS", "DefaultCluster", 3),
        ("BROKER_GET_NUMS", "DefaultCluster", 2),
    ],
)
def test_counted_statistics_are_shown(
    broker: OpenedBroker, name: str, key: str, total: int
) -> None:
    answer = view(broker, name, key)
    assert answer.code == ResponseCode.SUCCESS
    data = BrokerStatsData.from_json(javajson.loads(answer.body))
    assert (data.minute.total, data.hour.total, data.day.total) == (total, 0, 0)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("GROUP_GET_NUMS", "G@T"),
        ("GROUP_GET_NUMS", "T"),
        ("BROKER_PUT_NUMS", "another"),
        ("TOPIC_PUT_NUMS", ""),
        ("nothing of ours", "T"),
    ],
)
def test_unknown_statistics_are_refused_in_javas_words(
    broker: OpenedBroker, name: str, key: str
) -> None:
    answer = view(broker, name, key)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith(f"The stats <{name}> <{key}> not exist")
