"""Tests the metrics of an application's clients, and their page by prometheus_client."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from gantrymq.client import (
    ClientMetrics,
    ConsumeFrom,
    Later,
    Message,
    Outcome,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.instance.hooks import MessageKind, SendContext
from gantrymq.client.metrics import PLACES_MAX
from gantrymq.fakes.metrics import values_of
from gantrymq.metrics.tables import client as table
from gantrymq.testing.embedded import EmbeddedBroker
from gantrymq.wire.bodies.shared import MessageQueue


@pytest.fixture
def metrics() -> ClientMetrics:
    return ClientMetrics()


def sent(topic: str, error: Exception | None = None) -> SendContext:
    """The context of an attempt to send one message that took 3 ms."""
    queue = MessageQueue(topic, "broker-a", 0)
    context = SendContext("shop", [Message(topic, b"x")], ["id"], queue, "", MessageKind.NORMAL, 0)
    context.body_bytes, context.cost_ms, context.error = 7, 3, error
    return context


async def test_sends_and_calls_of_listeners_are_counted(metrics: ClientMetrics) -> None:
    broker = EmbeddedBroker()
    broker.create_topic("orders")
    answers: list[Outcome] = [Later(level=1), None]

    def listener(messages: list[ReceivedMessage]) -> Outcome:
        return answers.pop(0)

    shop = Producer(
        "shop", environment=broker, name_servers=broker.name_servers, send_hooks=[metrics]
    )
    consumer = PushConsumer(
        "billing",
        environment=broker,
        name_servers=broker.name_servers,
        consume_from=ConsumeFrom.FIRST_OFFSET,
        hooks=[metrics],
    )
    consumer.subscribe("orders", "*", listener)
    async with shop, consumer:
        await shop.send(Message("orders", b"four"))
        await shop.send_oneway(Message("orders", b"four"))
        await broker.expect_consumed("billing", "orders")
        while answers:
            await broker.advance(seconds=1)
            await asyncio.sleep(0)

    shown = values_of(metrics.samples())
    place = 'group="shop",topic="orders"'
    assert shown[f'gantry_client_sent_messages_total{{{place},outcome="ok"}}'] == 1
    assert shown[f'gantry_client_sent_messages_total{{{place},outcome="oneway"}}'] == 1
    assert shown[f"gantry_client_sent_bytes_total{{{place}}}"] == 8
    assert shown[f"gantry_client_send_seconds_count{{{place}}}"] == 2
    place = 'group="billing",topic="orders"'
    assert shown[f'gantry_client_consumed_messages_total{{{place},outcome="success"}}'] == 1
    assert shown[f'gantry_client_consumed_messages_total{{{place},outcome="later"}}'] == 1
    assert shown[f"gantry_client_delay_seconds_count{{{place}}}"] == 2


def test_a_failed_attempt_is_counted_as_failed(metrics: ClientMetrics) -> None:
    metrics.after_send(sent("orders", BrokerError(1, "no", "127.0.0.1:1")))
    shown = values_of(metrics.samples())
    name = 'gantry_client_sent_messages_total{group="shop",topic="orders",outcome="failed"}'
    assert shown[name] == 1


def test_a_registry_shows_the_whole_table(metrics: ClientMetrics) -> None:
    registry = CollectorRegistry()
    registry.register(metrics)
    metrics.after_send(sent("orders"))
    page = generate_latest(registry).decode()
    for family in table.TABLE:
        assert f"# HELP {family.name} {family.help}" in page
    assert 'gantry_client_send_seconds_bucket{group="shop",le="0.002",topic="orders"} 0.0' in page
    assert 'gantry_client_send_seconds_bucket{group="shop",le="0.005",topic="orders"} 1.0' in page
    assert 'gantry_client_send_seconds_sum{group="shop",topic="orders"} 0.003' in page


def test_shown_samples_do_not_change_later(metrics: ClientMetrics) -> None:
    metrics.after_send(sent("orders"))
    before = metrics.samples()
    shown = values_of(before)
    metrics.after_send(sent("orders"))
    assert values_of(before) == shown
    assert values_of(metrics.samples()) != shown


def test_topics_beyond_the_bound_are_counted_together(metrics: ClientMetrics) -> None:
    for number in range(PLACES_MAX + 2):
        metrics.after_send(sent(f"topic-{number}"))
    shown = values_of(metrics.samples())
    others = 'group="(others)",topic="(others)"'
    assert shown[f"gantry_client_sent_bytes_total{{{others}}}"] == 14
    assert sum(name.startswith("gantry_client_sent_bytes") for name in shown) == PLACES_MAX + 1
