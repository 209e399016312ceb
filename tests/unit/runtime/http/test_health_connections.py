"""Tests the connections of the health server: requests, slots, and limits of time."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from gantrymq.fakes.http_requests import close, get_in_thread
from gantrymq.runtime.http.health import HealthServer, Readiness
from gantrymq.runtime.http.http_connections import WAITING_MAX, Slots
from gantrymq.runtime.http.metrics import Metrics


async def test_a_connection_serves_one_answer(served: tuple[HealthServer, str, int]) -> None:
    _, host, port = served
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")

    answer = await reader.read()  # to its end

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"Connection: close" in answer
    await close(writer)


@pytest.mark.parametrize(
    "request_bytes", [b"POST / \r\n\r\n", b"\xff\xfe\r\n\r\n", b"GET / HTTP/1.1\r\nX\r\n\r\n"]
)
async def test_a_request_that_cannot_be_parsed_is_refused_and_not_logged(
    served: tuple[HealthServer, str, int], caplog: pytest.LogCaptureFixture, request_bytes: bytes
) -> None:
    _, host, port = served
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(request_bytes)

    answer = await reader.read()

    assert answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400"))
    assert not caplog.records
    await close(writer)


@pytest.mark.parametrize("expectation", [b"100-continue", b"\xb6", b"nothing"])
async def test_expectations_of_a_request_without_a_body_are_ignored(
    served: tuple[HealthServer, str, int], caplog: pytest.LogCaptureFixture, expectation: bytes
) -> None:
    _, host, port = served
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /health/live HTTP/1.1\r\nHost: x\r\nExpect: " + expectation + b"\r\n\r\n")

    answer = await reader.read()

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert not caplog.records
    await close(writer)


@pytest.mark.parametrize(
    ("line", "status"),
    [(b"GET /nothing", b"404"), (b"POST /metrics", b"405"), (b"HEAD /health/live", b"200")],
)
async def test_other_paths_and_methods_are_refused(
    served: tuple[HealthServer, str, int], line: bytes, status: bytes
) -> None:
    _, host, port = served
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(line + b" HTTP/1.1\r\nHost: x\r\n\r\n")

    answer = await reader.read()

    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"Connection: close" in answer
    await close(writer)


async def cut_old(server: HealthServer) -> None:
    """Expire old connections in the server's own thread, which does it once a second."""

    async def cut() -> None:
        assert server._guard is not None
        server._guard.cancel()
        server._cut_old()

    await server._there(cut())


async def test_incomplete_request_times_out(
    served: tuple[HealthServer, str, int],
) -> None:
    server, host, port = served
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /metrics HT")
    await asyncio.sleep(0)
    await accepted(server, 1)
    await cut_old(server)
    assert not reader.at_eof()
    assert server._connections is not None
    server._connections.waiting = Slots(WAITING_MAX, seconds=0.0)
    for connection in server._connections._of_handler.values():
        server._connections.waiting.take(connection, "", 0.0)

    await cut_old(server)

    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    await close(writer)


async def accepted(server: HealthServer, count: int) -> None:
    """Wait until the server has so many connections."""
    assert server._connections is not None
    async with asyncio.timeout(30):
        while len(server._connections) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_silent_connections_beyond_the_bound_close_the_oldest_of_them(
    served: tuple[HealthServer, str, int],
) -> None:
    server, host, port = served
    held = [await asyncio.open_connection(host, port) for _ in range(WAITING_MAX)]
    await accepted(server, WAITING_MAX)
    reader, writer = await asyncio.open_connection(host, port)

    with suppress(ConnectionResetError):
        assert await held[0][0].read() == b""

    writer.write(b"GET /health/live HTTP/1.0\r\n\r\n")
    assert (await reader.read()).endswith(b"alive\n")
    for _, each in [*held, (reader, writer)]:
        await close(each)


async def test_a_thousand_held_connections_leave_probes_their_slots() -> None:
    server = HealthServer(Metrics(), Readiness())
    host, port = await server.start("127.0.0.1", 0)
    held: list[asyncio.StreamWriter] = []
    try:
        for number in range(1000):
            _, writer = await asyncio.open_connection(host, port)
            held.append(writer)
            if number % 4 == 0:
                writer.write(b"GET /metrics HTTP/1.1\r\nHost: ")  # and no more
            elif number % 4 == 1:
                writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")  # and does not read
        for _ in range(30):
            status, text = await asyncio.to_thread(get_in_thread, port, "/health/live")
            assert (status, text) == (200, "alive\n")
    finally:
        for writer in held:
            writer.transport.abort()
        await server.stop()
