"""Tests that the same traffic gives the same metrics on a Java 5.3.3 broker and on Gantry's.

Compared: names, types, labels, and all values that traffic decides. What Gantry shows differently,
or not at all, is listed here with its reason.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gantrymq.interop import ports
from gantrymq.interop.broker_kinds import SETTINGS, BrokerKind, running
from gantrymq.interop.own.own_stage import OwnStage
from gantrymq.interop.releases import REFERENCE
from gantrymq.interop.servers import Broker
from gantrymq.interop.store.metrics_page import Metric, Page
from gantrymq.interop.store.metrics_traffic import POP_GROUP, put_traffic
from gantrymq.metrics.family import Family
from gantrymq.metrics.tables import rocketmq5

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# Java's page is made anew for each request, but its brokers count some events a little later.
SETTLE_SECONDS = 3.0

TIMERS = "ours are in a calendar, not on a wheel in files"
POP = "ours keep what is popped in memory: no revive queues and no buffer that is scanned"
NOT_SHOWN = {
    "target_info": "OpenTelemetry's own",
    "otel_scope_info": "OpenTelemetry's own",
    "rocketmq_timer_message_snapshot": TIMERS,
    "rocketmq_timer_enqueue_latency_milliseconds": TIMERS,
    "rocketmq_timing_messages": TIMERS,
    "rocketmq_delay_message_latency_seconds": TIMERS,
    "rocketmq_pop_revive_lag_milliseconds": POP,
    "rocketmq_pop_revive_latency_milliseconds": POP,
    "rocketmq_pop_revive_in_message_total": POP,
    "rocketmq_pop_offset_buffer_size": POP,
    "rocketmq_pop_buffer_scan_time_consume_milliseconds": POP,
    "rocketmq_topic_create_execution_time_milliseconds": "rocketmq_rpc_latency has it",
    "rocketmq_consumer_group_create_execution_time_milliseconds": "rocketmq_rpc_latency has it",
}

# Java reads half messages and op messages again for each check, so it counts more reads.
CHECKS_GROUP = "CID_RMQ_SYS_TRANS"
# Pulls of mqadmin do not count as consumption here; Java shows them with a lag of 0.
TOOLS_GROUP = "TOOLS_CONSUMER"
# Java revives popped messages by timer messages to this topic.
REVIVE_TOPIC = "rmq_sys_REVIVE_LOG_interop"

SAME_VALUES = (
    rocketmq5.MESSAGES_IN,
    rocketmq5.THROUGHPUT_IN,
    rocketmq5.MESSAGE_SIZE,
    rocketmq5.SEND_TO_DLQ,
    rocketmq5.COMMITTED,
    rocketmq5.ROLLED_BACK,
    rocketmq5.HALF_MESSAGES,
    rocketmq5.BROKER_PERMISSION,
    rocketmq5.TOPIC_NUMBER,
    rocketmq5.CONSUMER_GROUP_NUMBER,
    rocketmq5.PRODUCER_CONNECTIONS,
    rocketmq5.CONSUMER_CONNECTIONS,
)
SAME_LAG = (rocketmq5.LAG_MESSAGES, rocketmq5.INFLIGHT, rocketmq5.READY)
AGES = (rocketmq5.LAG_LATENCY, rocketmq5.QUEUEING_LATENCY)


async def no_mqadmin(*words: str) -> str:
    raise AssertionError(f"the traffic needs no mqadmin {words}")


async def page_after_traffic(broker: Broker, port: int) -> Page:
    """The pages of a run, read while its clients are still connected."""
    async with OwnStage(broker, "metrics", no_mqadmin) as stage:
        await put_traffic(stage)
        await asyncio.sleep(SETTLE_SECONDS)
        return await asyncio.to_thread(Page.read, port)


@pytest.fixture(scope="module")
def pages(folder: Callable[[str], Path]) -> Mapping[BrokerKind, Page]:
    """The pages of both brokers, Java's first."""
    found: dict[BrokerKind, Page] = {}
    for kind in (BrokerKind.JAVA, BrokerKind.GANTRY):
        port = ports.free_port()
        own = {
            "metricsExporterType": "PROM",
            "metricsPromExporterPort": str(port),
            "metricsPromExporterHost": "127.0.0.1",
        }
        settings = {**SETTINGS, **(own if kind is BrokerKind.JAVA else {"metricsPort": str(port)})}

        def place(name: str, kind: BrokerKind = kind) -> Path:
            return folder(f"{kind.value}-{name}")

        with running(kind, place, settings, newest=REFERENCE) as broker:
            found[kind] = asyncio.run(page_after_traffic(broker, port))
    return found


@pytest.fixture
def java(pages: Mapping[BrokerKind, Page]) -> Page:
    return pages[BrokerKind.JAVA]


@pytest.fixture
def ours(pages: Mapping[BrokerKind, Page]) -> Page:
    return pages[BrokerKind.GANTRY]


def test_every_metric_of_java_is_shown_with_its_type(java: Page, ours: Page) -> None:
    missing = java.metrics.keys() - ours.metrics.keys()
    assert missing <= NOT_SHOWN.keys()
    for name in java.metrics.keys() & ours.metrics.keys():
        assert ours[name].kind == java[name].kind, name


def test_no_name_of_rocketmq_is_invented(java: Page, ours: Page) -> None:
    own = {name for name in ours.metrics if name.startswith("rocketmq_")}
    assert own <= java.metrics.keys()


def test_labels_are_those_of_java(java: Page, ours: Page) -> None:
    for name in java.metrics.keys() & ours.metrics.keys():
        told = java[name].label_names
        if name in {"rocketmq_messages_out_total", "rocketmq_throughput_out_total"}:
            told = without_is_retry(told)  # Java has the label only on messages of POP
        assert ours[name].label_names <= told, name


def without_is_retry(names: frozenset[frozenset[str]]) -> frozenset[frozenset[str]]:
    return frozenset(each - {"is_retry"} for each in names)


@pytest.mark.parametrize("family", SAME_VALUES, ids=[each.name for each in SAME_VALUES])
def test_values_that_traffic_decides_are_the_same(java: Page, ours: Page, family: Family) -> None:
    assert ours[family.name].values == java[family.name].values


@pytest.mark.parametrize("name", ["rocketmq_messages_out_total", "rocketmq_throughput_out_total"])
def test_delivered_messages_are_the_same(java: Page, ours: Page, name: str) -> None:
    told = java[name].without(consumer_group=CHECKS_GROUP)
    plain = {labels - {("is_retry", "false")}: value for labels, value in told.values.items()}
    assert ours[name].without(consumer_group=CHECKS_GROUP).values == plain


@pytest.mark.parametrize("family", SAME_LAG, ids=[each.name for each in SAME_LAG])
def test_lag_is_the_same_in_messages(java: Page, ours: Page, family: Family) -> None:
    told = consumers(java[family.name])
    assert told.where(consumer_group="OfflineGroup").values, "it is offline"
    assert consumers(ours[family.name]).values == told.values


@pytest.mark.parametrize("family", AGES, ids=[each.name for each in AGES])
def test_lag_has_a_time_where_it_has_one_in_java(java: Page, ours: Page, family: Family) -> None:
    told, own = consumers(java[family.name]), consumers(ours[family.name])
    assert {labels: value > 0 for labels, value in own.values.items()} == {
        labels: value > 0 for labels, value in told.values.items()
    }


def consumers(metric: Metric) -> Metric:
    """The series of the traffic. Java shows retry topics of POP that have no messages yet, with
    absurd times, and these are left out."""
    pop_retries = {("consumer_group", POP_GROUP), ("is_retry", "true")}
    kept = metric.without(consumer_group=TOOLS_GROUP).values
    return Metric(
        metric.kind, {each: value for each, value in kept.items() if not pop_retries <= each}
    )


@pytest.mark.parametrize("name", ["rocketmq_timer_enqueue_total", "rocketmq_timer_dequeue_total"])
def test_timer_messages_are_counted_by_topic(java: Page, ours: Page, name: str) -> None:
    assert ours[name].values == java[name].without(topic=REVIVE_TOPIC).values


def test_requests_have_javas_names(java: Page, ours: Page) -> None:
    name = rocketmq5.RPC_LATENCY.name
    for label in ("request_code", "response_code", "result", "is_long_polling", "protocol_type"):
        assert label_values(ours[name], label) <= label_values(java[name], label), label
    assert bounds(ours[name]) == bounds(java[name])


def label_values(metric: Metric, name: str) -> set[str]:
    return {value for labels in metric.values for label, value in labels if label == name}


def bounds(metric: Metric) -> set[float]:
    return {float(value) for value in label_values(metric, "le")}


def test_processors_are_those_of_java(java: Page, ours: Page) -> None:
    name = rocketmq5.PROCESSOR_WATERMARK.name
    assert label_values(ours[name], "processor") == label_values(java[name], "processor")
