"""Tests how long a close takes when brokers no longer answer."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.client.core.errors import SendError
from gantrymq.client.core.flow.flow_steps import Flow
from gantrymq.client.core.group.offset_store import RemoteOffsets
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.pull.lite_pull import LitePull
from gantrymq.client.core.pull.lite_settings import LiteSettings
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.selecting import by_key
from gantrymq.client.core.trace.tracer import FLUSH_S
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster
from gantrymq.fakes.brokers.consumers import FIRST, Consumer
from gantrymq.wire.codes import RequestCode

# The offsets' own timeout, then that of the goodbye.
CONSUMER_S = 5.0 + 3.0

GIVEN_UP = r"closed before|call timeout|still failed|name servers failed"


def seconds(cluster: Cluster, flow: Flow[None]) -> float:
    began = cluster.driver.clock.monotonic()
    cluster.run(flow)
    return cluster.driver.clock.monotonic() - began


def fall_silent(cluster: Cluster) -> None:
    for address in cluster.addresses:
        cluster.faults[address] = lambda *_: None


@pytest.mark.parametrize("orderly", [False, True])
def test_a_push_consumer_waits_once_for_all_queues(*, orderly: bool) -> None:
    cluster = Cluster("broker-a", "broker-b")
    for queue_id in range(4):
        cluster.store("x", queue_id=queue_id)
    settings = dataclasses.replace(FIRST, orderly=orderly)
    consumer = Consumer(cluster, settings=settings).start()
    assert len(consumer.queues) == 8
    fall_silent(cluster)
    assert seconds(cluster, consumer.member.close()) <= CONSUMER_S


def test_offsets_are_persisted_though_a_broker_does_not_answer() -> None:
    cluster = Cluster()
    for queue_id in range(4):
        cluster.store("x", queue_id=queue_id)
    consumer = Consumer(cluster).start()
    asked = []
    cluster.faults[RequestCode.UPDATE_CONSUMER_OFFSET] = lambda _, command: asked.append(command)
    cluster.run(consumer.member.close())
    told = {(command.ext or {})["queueId"] for command in asked}
    assert told == {"0", "1", "2", "3"}
    assert [command.is_oneway for command in asked].count(False) == 1


def test_a_pull_consumer_waits_once_for_all_queues() -> None:
    cluster = Cluster("broker-a", "broker-b")
    for queue_id in range(4):
        cluster.store("x", queue_id=queue_id)
    settings = LiteSettings(consume_from=ConsumeFrom.FIRST_OFFSET)
    lite = LitePull(cluster.instance, "G", settings, RemoteOffsets(cluster.instance, "G"))
    lite.subscribe("T")
    cluster.instance.start()
    cluster.run(lite.start())
    cluster.pass_time(3.0)
    assert sum(len(cluster.run(lite.poll(1.0))) for _ in range(4)) == 4
    fall_silent(cluster)
    assert seconds(cluster, lite.close()) <= CONSUMER_S


def test_a_closing_producer_fails_unacknowledged_messages() -> None:
    cluster = Cluster()
    settings = ProducerSettings(batch_messages_max=1, close_timeout_s=7.0)
    core = ProducerCore(cluster.instance, "G", settings)
    cluster.run(core.start())
    cluster.run(core.send(Message("T", b"x")))
    cluster.run(cluster.instance.heartbeat())
    fall_silent(cluster)
    cluster.faults[NAME_SERVER] = lambda *_: None
    batches = [core.send_async(Message("T", b"x")) for _ in range(500)]
    batches.append(core.send_async(Message("U", b"x"), select=by_key, key=1))
    assert seconds(cluster, core.close()) <= 7.0 + 3.0
    for batch in batches:
        with pytest.raises(SendError, match=GIVEN_UP):
            batch.result_of(0)
    assert core.accumulator.waiting_bytes == 0


def test_a_closing_producer_drops_traces_after_the_first_failure() -> None:
    cluster = Cluster()
    core = ProducerCore(cluster.instance, "G", ProducerSettings(trace=True))
    cluster.run(core.start())
    for _ in range(3):
        messages = [Message("T", b"x", keys=[f"{n}" * 200]) for n in range(60)]
        cluster.run(core.send_batch(messages))
    fall_silent(cluster)
    assert seconds(cluster, core.close()) <= FLUSH_S + 3.0
    assert any("traces not sent" in line for line in cluster.driver.lines)
