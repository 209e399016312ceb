"""Tests requests to the API: errors, retries, lanes and counts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.api_config import ApiConfig
from gantrymq.operator.kube.client import THROTTLE_TRIES, KubeClient, Lane
from gantrymq.operator.kube.errors import (
    ConflictError,
    NotFoundError,
    RefusedError,
    ThrottledError,
    UnavailableError,
)

PATH = kinds.CONFIG_MAP.path("one", "a")


async def test_a_missing_object_raises_the_text_of_the_api(client: KubeClient) -> None:
    with pytest.raises(NotFoundError, match='configmaps "a" not found') as caught:
        await client.get(PATH)

    assert (caught.value.status, caught.value.reason) == (404, "NotFound")


async def test_a_write_to_another_version_is_a_conflict(
    server: KubeServer, client: KubeClient
) -> None:
    server.put("ConfigMap", {"metadata": {"namespace": "one", "name": "a"}})
    body = {"metadata": {"name": "a", "resourceVersion": "1"}, "data": {}}

    with pytest.raises(ConflictError, match="resourceVersion"):
        await client.request("PUT", PATH, None, body)


async def test_a_refusal_carries_the_reason(server: KubeServer, client: KubeClient) -> None:
    server.faults.refusals["PUT configmaps/a"] = (422, "data: too long")

    with pytest.raises(RefusedError, match="data: too long"):
        await client.request("PUT", PATH, None, {"metadata": {"name": "a"}})


async def test_a_throttled_request_is_repeated(server: KubeServer, client: KubeClient) -> None:
    server.put("ConfigMap", {"metadata": {"namespace": "one", "name": "a"}})
    server.faults.throttled = THROTTLE_TRIES - 1

    found = await client.get(PATH)

    assert found["metadata"]["name"] == "a"
    assert client.answers[("GET", 429)] == THROTTLE_TRIES - 1


@pytest.mark.parametrize("lane", Lane)
async def test_continued_throttling_is_an_error(
    server: KubeServer, client: KubeClient, lane: Lane
) -> None:
    server.faults.throttled = 100

    with pytest.raises(ThrottledError) as caught:
        await client.get(PATH, lane=lane)

    assert caught.value.retry_after_seconds == 0
    assert client.answers[("GET", 429)] == THROTTLE_TRIES


async def test_a_long_pause_is_left_to_the_caller(server: KubeServer, client: KubeClient) -> None:
    server.faults.throttled, server.faults.retry_after = 1, "60"

    with pytest.raises(ThrottledError) as caught:
        await client.get(PATH)

    assert caught.value.retry_after_seconds == 60


async def test_a_failing_api_leaves_the_outcome_open(
    server: KubeServer, client: KubeClient
) -> None:
    server.faults.is_refusing = True

    with pytest.raises(UnavailableError, match="the server is out"):
        await client.get(PATH)


async def test_an_api_that_hangs_is_given_up(server: KubeServer) -> None:
    server.faults.black_holes.add("one")
    client = KubeClient(ApiConfig(server.url), request_seconds=0.1)
    try:
        with pytest.raises(UnavailableError, match=r"no answer in 0\.1 s"):
            await client.get(PATH)
        assert client.answers[("GET", 0)] == 1
    finally:
        await client.close()


async def test_an_unreachable_api_is_an_error() -> None:
    client = KubeClient(ApiConfig("http://127.0.0.1:1"))
    try:
        with pytest.raises(UnavailableError):
            await client.get(PATH)
    finally:
        await client.close()


async def test_bulk_requests_that_hang_leave_connections_to_urgent_ones(
    server: KubeServer, client: KubeClient
) -> None:
    server.faults.black_holes.add("stuck")
    stuck = kinds.CONFIG_MAP.path("stuck", "a")
    hanging = [asyncio.create_task(client.get(stuck, lane=Lane.BULK)) for _ in range(100)]
    server.put("ConfigMap", {"metadata": {"namespace": "one", "name": "a"}})

    found = await asyncio.wait_for(client.get(PATH), 10)

    assert found["metadata"]["name"] == "a"
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


async def test_the_token_is_read_for_each_request(server: KubeServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    client = KubeClient(ApiConfig(server.url, token=token.read_text))
    try:
        with pytest.raises(UnavailableError, match="the token cannot be read"):
            await client.get(PATH)
        token.write_text("abc")
        with pytest.raises(NotFoundError):
            await client.get(PATH)
    finally:
        await client.close()


async def test_writes_are_counted(server: KubeServer, client: KubeClient) -> None:
    await client.request(
        "POST", kinds.CONFIG_MAP.collection("one"), None, {"metadata": {"name": "a"}}
    )
    await client.get(PATH)

    assert client.write_count == 1
    assert server.calls.writes == ["POST configmaps/one/a"]
