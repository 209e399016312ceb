from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest
from aiohttp import ClientSession

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.health import CONNECTIONS_MAX, HealthServer, Readiness
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


@pytest.fixture
async def served() -> AsyncIterator[tuple[HealthServer, str, int]]:
    server = HealthServer(Metrics(), Readiness())
    host, port = await server.start("127.0.0.1", 0)
    yield server, host, port
    await server.stop()


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def test_a_connection_serves_one_answer(served: tuple[HealthServer, str, int]) -> None:
    _, host, port = served
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")

    answer = await reader.read()  # to its end

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"Connection: close" in answer
    await close(writer)


async def test_half_a_request_has_its_time_and_no_more(
    served: tuple[HealthServer, str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, host, port = served
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /metrics HT")
    await asyncio.sleep(0)
    while not server._born_at:
        await asyncio.sleep(0)
        server._cut_old()
    assert not reader.at_eof()
    monkeypatch.setattr("gantrymq.runtime.health.CONNECTION_SECONDS", 0.0)

    server._cut_old()

    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    await close(writer)


async def test_connections_beyond_the_bound_are_closed_and_the_others_served(
    served: tuple[HealthServer, str, int],
) -> None:
    _, host, port = served
    first = [await asyncio.open_connection(host, port) for _ in range(CONNECTIONS_MAX)]
    await asyncio.sleep(0)
    reader, writer = await asyncio.open_connection(host, port)

    assert await reader.read() == b""

    await close(writer)
    reader, writer = first[0]
    writer.write(b"GET /health/live HTTP/1.0\r\n\r\n")
    assert (await reader.read()).endswith(b"alive\n")
    for _, writer in first:
        await close(writer)
