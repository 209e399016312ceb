"""Tests that Events are published once an hour, and dropped beyond the queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.event_publisher import QUEUE_MAX, EventPublisher
from gantrymq.operator.plan.actions import EventNote

RESOURCE: dict[str, Any] = {
    "apiVersion": "gantrymq.dev/v1",
    "kind": "BrokerCluster",
    "metadata": {"namespace": "one", "name": "orders", "uid": "u-1"},
}
NOTE = EventNote("Warning", "ClaimPending", "no StorageClass fast")


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def publisher(client: KubeClient, clock: Clock) -> AsyncIterator[EventPublisher]:
    publisher = EventPublisher(client, "operator-1", clock, seconds_between=0)
    task = asyncio.create_task(publisher.run())
    yield publisher
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_note_becomes_an_event_of_its_resource(
    server: KubeServer, publisher: EventPublisher
) -> None:
    publisher.publish(RESOURCE, NOTE)
    await until(lambda: server.all("Event", "one"))

    (event,) = server.all("Event", "one")
    assert event["involvedObject"]["uid"] == "u-1"
    assert (event["type"], event["reason"]) == ("Warning", "ClaimPending")
    assert event["message"] == "no StorageClass fast"
    assert event["metadata"]["name"].startswith("orders.")


async def test_an_event_is_not_repeated_within_the_hour(
    server: KubeServer, publisher: EventPublisher, clock: Clock
) -> None:
    publisher.publish(RESOURCE, NOTE)
    publisher.publish(RESOURCE, NOTE)
    await until(lambda: server.all("Event", "one"))
    clock.now += timedelta(hours=1)
    publisher.publish(RESOURCE, NOTE)

    await until(lambda: len(server.all("Event", "one")) == 2)
    assert server.calls.requests["POST events"] == 2


async def test_a_restarted_operator_does_not_repeat_it(
    server: KubeServer, publisher: EventPublisher, client: KubeClient, clock: Clock
) -> None:
    publisher.publish(RESOURCE, NOTE)
    await until(lambda: server.all("Event", "one"))
    restarted = EventPublisher(client, "operator-2", clock, seconds_between=0)
    task = asyncio.create_task(restarted.run())

    restarted.publish(RESOURCE, NOTE)
    await until(lambda: server.calls.requests["POST events"] == 2)

    assert len(server.all("Event", "one")) == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_notes_beyond_the_queue_are_dropped(client: KubeClient, clock: Clock) -> None:
    publisher = EventPublisher(client, "operator-1", clock)

    for number in range(QUEUE_MAX + 3):
        publisher.publish(RESOURCE, EventNote("Normal", "Test", f"message {number}"))

    assert publisher.dropped == 3


async def test_a_refused_event_does_not_stop_the_next(
    server: KubeServer, publisher: EventPublisher
) -> None:
    server.faults.is_refusing = True
    publisher.publish(RESOURCE, NOTE)
    await until(lambda: publisher.failed == 1)
    server.faults.is_refusing = False

    publisher.publish(RESOURCE, EventNote("Normal", "Test", "later"))

    await until(lambda: server.all("Event", "one"))
