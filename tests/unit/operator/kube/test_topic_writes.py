"""Tests writes of single Topics, and their errors."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.topic_writes import TopicWrites
from gantrymq.operator.topics.api import TopicApiError, TopicChangedError, TopicGoneError
from gantrymq.operator.topics.reading import topic_from_json
from gantrymq.operator.topics.values import TopicResource, TopicStatus

Json = dict[str, Any]
STATUS = TopicStatus(observed_generation=1, phase="Ready", topic_name="orders")


@pytest.fixture
def writes(client: KubeClient) -> TopicWrites:
    return TopicWrites(client)


def topic(server: KubeServer, *, finalizers: tuple[str, ...] = ()) -> TopicResource:
    metadata: Json = {"namespace": "one", "name": "orders", "finalizers": list(finalizers)}
    body = {"metadata": metadata, "spec": {"cluster": "c"}}
    return topic_from_json(server.put("Topic", body))


async def test_a_status_is_written_and_its_version_returned(
    server: KubeServer, writes: TopicWrites
) -> None:
    version = await writes.write_status(topic(server), STATUS)

    found = server.get("Topic", "one", "orders")
    assert found is not None
    assert found["status"]["phase"] == "Ready"
    assert found["metadata"]["resourceVersion"] == version


async def test_finalizers_are_replaced_on_the_version_that_was_read(
    server: KubeServer, writes: TopicWrites
) -> None:
    before = topic(server)

    await writes.set_finalizers(before, ("gantrymq.dev/topic",))

    found = server.get("Topic", "one", "orders")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["gantrymq.dev/topic"]
    with pytest.raises(TopicChangedError):
        await writes.set_finalizers(before, ())


async def test_a_recreated_topic_is_not_written(server: KubeServer, writes: TopicWrites) -> None:
    before = topic(server)
    server.delete("Topic", "one", "orders")
    topic(server)

    with pytest.raises(TopicGoneError):
        await writes.write_status(before, STATUS)


async def test_a_deleted_topic_is_reported(server: KubeServer, writes: TopicWrites) -> None:
    before = topic(server)
    server.delete("Topic", "one", "orders")

    with pytest.raises(TopicGoneError):
        await writes.set_finalizers(before, ())


async def test_a_failing_api_is_an_api_error(server: KubeServer, writes: TopicWrites) -> None:
    before = topic(server)
    server.faults.is_refusing = True

    with pytest.raises(TopicApiError, match="the server is out"):
        await writes.write_status(before, STATUS)
    with pytest.raises(TopicApiError, match="the server is out"):
        await writes.set_finalizers(before, ())
