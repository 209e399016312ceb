"""The broker reports how many timer messages wait, and how late their delivery is."""

from __future__ import annotations

from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.timers import (
    HOST,
    ClockedBroker,
    accept,
    jump,
    put,
)
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_table_from_json
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message.record import Record


def figures(broker: OpenedBroker) -> dict[str, str]:
    answer = broker.ask(RequestCode.GET_BROKER_RUNTIME_INFO)
    table = kv_table_from_json(javajson.loads(answer.body))
    return {key.removeprefix("timer"): table[key] for key in table if key.startswith("timer")}


def test_runtime_info_shows_waiting_timers_and_delivery_rate() -> None:
    broker = ClockedBroker()
    accept(broker, 2.0, b"a")
    accept(broker, 100.0, b"b")
    broker.pass_time(15.0)
    ours = figures(broker)
    assert ours["CongestNum"] == "1"
    assert float(ours["DequeueTps"]) > 0
    assert (ours["OffsetBehind"], ours["ReadBehind"]) == ("0", "0")


def test_runtime_info_shows_how_late_timers_are() -> None:
    broker = ClockedBroker()
    accept(broker, 2.0)
    broker.settle()
    broker.state.serves = False
    put(broker, Record(b"rmq_sys_wheel_timer", b"x", born_host=HOST, store_host=HOST))
    jump(broker, 12.0)
    ours = figures(broker)
    assert ours["OffsetBehind"] == "1"
    assert int(ours["ReadBehind"]) in {9, 10}


def test_service_counts_waiting_timers_and_their_delay() -> None:
    broker = OpenedBroker()
    broker.state.topics.put(TopicConfig("T"), broker.wall_ms)
    accept(broker, 5.0)
    timers = broker.services.timer_service
    assert timers.untaken == 0, "it is not in the queue before the turn"
    broker.settle()
    assert (timers.untaken, timers.count) == (0, 1)
    due_ms = broker.wall_ms + 5_000
    assert timers.late_ms(due_ms) == 0
    assert timers.late_ms(due_ms + 3_000) == 3_000
