"""GET_BROKER_RUNTIME_INFO against a real broker's."""

from __future__ import annotations

import json
import re
from pathlib import Path

from gantrymq.base.disk import Usage
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.processor.admin.runtime_info import (
    capacity,
    distribution,
    human_bytes,
    uptime,
    used_ratio,
)
from gantrymq.fakes.brokers.broker import IDENTITY, START_MS, OpenedBroker
from gantrymq.fakes.stores.store import message
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_table_from_json
from gantrymq.wire.codes import RequestCode

TRAFFIC = Path(__file__).parents[4] / "vectors" / "traffic-5.3.3.json"

# Ours besides Java 5.3.3's: 4.9's spelling, and what exportMetrics of some versions looks for.
OURS = {"getTransferedTps", "totalMemKBytes"}

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(E-?[0-9]+)?")


def javas() -> dict[str, str]:
    exchanges = json.loads(TRAFFIC.read_text())
    code = RequestCode.GET_BROKER_RUNTIME_INFO
    text = next(
        each["response"]["bodyText"] for each in exchanges if each["request"]["code"] == code
    )
    return kv_table_from_json(javajson.loads(text))


def asked(broker: OpenedBroker) -> dict[str, str]:
    answer = broker.ask(RequestCode.GET_BROKER_RUNTIME_INFO)
    return kv_table_from_json(javajson.loads(answer.body))


def put(broker: OpenedBroker, topic: str, queue_id: int = 0) -> None:
    record = message(1, topic, queue_id)
    broker.state.task_runner.start(tasks.put(record), lambda _: None, lambda _: None)
    broker.settle()


def test_it_has_javas_keys() -> None:
    broker = OpenedBroker()
    ours = {key for key in asked(broker) if not key.startswith("scheduleMessageOffset_")}
    expected = {key for key in javas() if not key.startswith("scheduleMessageOffset_")}
    # The harness has no path for its store.
    expected.discard("commitLogDiskRatio_/PATH")
    assert ours == expected | OURS


def test_values_have_javas_form() -> None:
    broker = OpenedBroker()
    put(broker, "T")
    broker.state.stats.sent("T", 3, 300)
    broker.pass_time(20.0)
    ours = asked(broker)
    for key, value in javas().items():
        if key in ours:
            assert _shape(ours[key]) == _shape(value), key


def _shape(value: str) -> str:
    """With every number, and every unit of bytes, made the same."""
    return re.sub(r"(?<=0 )[KMGTPE]iB|(?<=0 )B\b", "B", _NUMBER.sub("0", value))


def test_figures_are_those_of_the_store() -> None:
    broker = OpenedBroker()
    put(broker, "T")
    broker.pass_time(61.0)
    ours = asked(broker)
    assert ours["commitLogMaxOffset"] == str(broker.state.store.log.end)
    assert ours["earliestMessageTimeStamp"] == str(START_MS)
    assert ours["remainHowManyDataToFlush"] == "0 B"
    assert ours["bootTimestamp"] == str(START_MS)
    assert ours["runtime"] == "[ 0 days, 0 hours, 1 minutes, 1 seconds ]"
    assert (ours["brokerVersionDesc"], ours["brokerVersion"]) == ("V5_3_3", "479")
    assert ours["brokerActive"] == "true"


def test_figures_are_those_that_were_counted() -> None:
    broker = OpenedBroker()
    stats = broker.state.stats
    stats.sent("T", 4, 100)
    stats.sent("SCHEDULE_TOPIC_XXXX", 1, 25)
    stats.put_failed(2)
    stats.got("G", "T", 3, 75)
    ours = asked(broker)
    assert ours["putMessageTimesTotal"] == "5"
    assert ours["putMessageAverageSize"] == "25.0"
    assert ours["putMessageFailedTimes"] == "2"
    assert ours["msgPutTotalTodayNow"] == "4"
    assert ours["msgGetTotalTodayNow"] == "3"


def test_waiting_time_of_sends_is_reported() -> None:
    broker = OpenedBroker()
    admission = broker.state.admission
    admission.begin(0.0)
    admission.begin(0.0)
    admission.begin(0.5)
    broker.pass_time(2.0)
    assert asked(broker)["sendThreadPoolQueueHeadWaitTimeMills"] == "2000"
    for began in (0.0, 0.0):
        admission.end(began, broker.now, 1)
    ours = asked(broker)
    assert ours["sendThreadPoolQueueHeadWaitTimeMills"] == "1500"
    assert 2000 <= float(ours["putLatency99"]) <= 2500
    assert ours["putMessageEntireTimeMax"] == "2000"
    admission.end(0.5, broker.now, 1)
    assert asked(broker)["sendThreadPoolQueueHeadWaitTimeMills"] == "0"


def test_the_longest_times_are_those_since_the_start() -> None:
    broker = OpenedBroker()
    broker.state.stats.read_took(0.0125)
    broker.state.stats.read_took(0.002)
    broker.state.admission.latency.note(0.3, 1, 0.0)
    broker.pass_time(600.0)
    ours = asked(broker)
    assert (ours["getMessageEntireTimeMax"], ours["putMessageEntireTimeMax"]) == ("12", "300")


def test_latencies_of_the_last_minute_are_reported_by_class() -> None:
    broker = OpenedBroker()
    broker.state.admission.latency.note(0.02, 7, 0.0)
    assert asked(broker)["putMessageDistributeTime"] == "null"
    broker.pass_time(60.0)
    assert "[0~10ms]:0 [10~50ms]:7 [50~100ms]:0" in asked(broker)["putMessageDistributeTime"]


def test_delay_levels_say_how_far_they_have_come() -> None:
    broker = OpenedBroker()
    put(broker, "SCHEDULE_TOPIC_XXXX", queue_id=17)
    levels = {key: value for key, value in asked(broker).items() if key.startswith("schedule")}
    assert list(levels) == ["scheduleMessageOffset_18"]
    assert levels["scheduleMessageOffset_18"].endswith(",1")


def test_a_slave_is_not_active() -> None:
    identity = IDENTITY.__class__("broker-a", "DefaultCluster", 1, IDENTITY.address, "")
    assert asked(OpenedBroker(identity=identity))["brokerActive"] == "false"


def test_words_are_javas() -> None:
    assert [human_bytes(count) for count in (0, 401, 1024, 1536, 222_500_000_000)] == [
        "0 B", "401 B", "1.0 KiB", "1.5 KiB", "207.2 GiB",
    ]  # fmt: skip
    assert uptime(93_784_999) == "[ 1 days, 2 hours, 3 minutes, 4 seconds ]"
    assert distribution(None) == "null"
    assert distribution(range(13)) == (
        "[<=0ms]:0 [0~10ms]:1 [10~50ms]:2 [50~100ms]:3 [100~200ms]:4 [200~500ms]:5 [500ms~1s]:6 "
        "[1~2s]:7 [2~3s]:8 [3~4s]:9 [4~5s]:10 [5~10s]:11 [10s~]:12 "
    )
    gib = 1 << 30
    assert capacity(Usage(90 * gib, 20 * gib, reserved_bytes=10 * gib)) == (
        "Total : 100.0 GiB, Free : 30.0 GiB."
    )
    assert used_ratio(None) == "-1.0"
    assert used_ratio(Usage(total_bytes=100, free_bytes=67)) == "0.33"
    assert used_ratio(Usage(total_bytes=1000, free_bytes=669)) == "0.34"
    assert used_ratio(Usage(total_bytes=1000, free_bytes=0)) == "1.0"
