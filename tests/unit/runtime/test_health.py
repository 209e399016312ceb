from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import ClientSession

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.health import HealthServer, Readiness
from gantrymq.runtime.metrics import Metrics

Get = Callable[[str], Awaitable[tuple[int, str]]]


@pytest.fixture
def readiness() -> Readiness:
    return Readiness()


@pytest.fixture
async def get(readiness: Readiness) -> AsyncIterator[Get]:
    server = HealthServer(Metrics(), readiness, {"/metrics/4x": lambda: b"old_name 1\n"})
    host, port = await server.start("127.0.0.1", 0)

    async def get(path: str) -> tuple[int, str]:
        async with ClientSession() as session, session.get(f"http://{host}:{port}{path}") as reply:
            return reply.status, await reply.text()

    yield get
    await server.stop()


async def test_a_process_is_alive_even_when_not_ready(get: Get, readiness: Readiness) -> None:
    readiness.add("routes", lambda: "no broker has registered yet")

    assert await get("/health/live") == (200, "alive\n")


async def test_it_is_ready_when_no_check_objects(get: Get, readiness: Readiness) -> None:
    missing: dict[str, str] = {"routes": "warming up for 12 s"}
    readiness.add("routes", lambda: missing.get("routes"))
    readiness.add("disk", lambda: None)

    assert await get("/health/ready") == (503, "not ready\nroutes: warming up for 12 s\n")
    missing.clear()
    assert await get("/health/ready") == (200, "ready\n")


async def test_metrics_and_the_owner_s_pages(get: Get) -> None:
    status, text = await get("/metrics")

    assert status == 200
    assert "process_resident_memory_bytes " in text
    assert await get("/metrics/4x") == (200, "old_name 1\n")
    assert (await get("/elsewhere"))[0] == 404


async def test_a_port_in_use_is_a_configuration_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1:{port}"):
            await HealthServer(Metrics(), Readiness()).start("127.0.0.1", port)
