"""Tests the HTTP server of probes, metrics and pages, also while the event loop is blocked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession

from gantrymq.base.errors import ConfigurationError
from gantrymq.fakes.http_requests import close, get_in_thread
from gantrymq.metrics.family import Table
from gantrymq.metrics.samples import Row, Samples, one
from gantrymq.runtime.clock import VirtualClock
from gantrymq.runtime.http.health import HealthServer, Readiness
from gantrymq.runtime.http.http_connections import SCRAPES_MAX
from gantrymq.runtime.http.metrics import CONTENT_TYPE, Metrics
from gantrymq.runtime.pulse import STALL_SECONDS, Pulse
from gantrymq.runtime.security.bearer_token import BearerTokenFile

TABLE = Table("test", "Test")
LEVEL = TABLE.gauge("level", "A level")
SENT = TABLE.counter("sent_total", "Messages sent", ("topic",))

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


async def test_process_is_ready_if_all_checks_pass(get: Get, readiness: Readiness) -> None:
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


async def test_a_token_is_needed_for_metrics_and_not_for_probes(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a" * 32)
    other = {"/metrics/other": Metrics(shows_process=False)}
    token = BearerTokenFile(str(file))
    server = HealthServer(Metrics(), Readiness(), more_metrics=other, token=token)
    host, port = await server.start("127.0.0.1", 0)
    async with ClientSession(f"http://{host}:{port}") as session:
        for path in ("/metrics", "/metrics/other"):
            for token_sent, status in (("b" * 32, 401), ("a" * 32, 200)):
                headers = {"Authorization": f"Bearer {token_sent}"}
                async with session.get(path, headers=headers) as reply:
                    assert reply.status == status, path
            async with session.get(path) as reply:
                assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
        for path in ("/health/live", "/health/ready", "/healthz", "/readyz"):
            async with session.get(path) as reply:
                assert reply.status == 200, path
    await server.stop()


async def test_metrics_under_other_names_have_a_path_of_their_own() -> None:
    other = Metrics(shows_process=False)
    other.add(lambda: [one(LEVEL, 7)])
    server = HealthServer(Metrics(), Readiness(), more_metrics={"/metrics/other": other})
    host, port = await server.start("127.0.0.1", 0)
    url = f"http://{host}:{port}/metrics/other"
    async with ClientSession() as session, session.get(url) as reply:
        assert (await reply.text()).splitlines()[-1] == "level 7.0"
        assert reply.headers["Content-Type"] == CONTENT_TYPE
    await server.stop()


async def test_long_page_arrives_complete() -> None:
    metrics = Metrics(shows_process=False)
    rows: list[Row] = [((f"T{number}",), number) for number in range(20_000)]
    metrics.add(lambda: [Samples(SENT, rows)])
    server = HealthServer(metrics, Readiness())
    host, port = await server.start("127.0.0.1", 0)
    async with ClientSession() as session, session.get(f"http://{host}:{port}/metrics") as reply:
        text = await reply.text()
        assert int(reply.headers["Content-Length"]) == len(text)
    assert text.count("sent_total{") == 20_000
    await server.stop()


async def test_two_simultaneous_requests_are_both_answered() -> None:
    asked = asyncio.Event()
    answered = asyncio.Event()
    metrics = Metrics(shows_process=False)
    pages = []

    async def prepare() -> None:
        pages.append(1)
        asked.set()
        await answered.wait()

    metrics.prepare(prepare)
    metrics.add(lambda: [one(LEVEL, 7)])
    server = HealthServer(metrics, Readiness())
    host, port = await server.start("127.0.0.1", 0)
    url = f"http://{host}:{port}/metrics"
    async with ClientSession() as session, asyncio.TaskGroup() as group:
        first, second = (group.create_task(_text(session, url)) for _ in range(2))
        await asked.wait()
        answered.set()
    assert first.result().endswith("level 7.0\n")
    assert second.result().endswith("level 7.0\n")
    assert pages, "it was prepared"
    await server.stop()


async def _text(session: ClientSession, url: str) -> str:
    async with session.get(url) as reply:
        return await reply.text()


async def test_scrapes_beyond_the_bound_are_refused_and_the_others_share_one_page() -> None:
    answered = asyncio.Event()
    metrics = Metrics(shows_process=False)
    made = []

    async def prepare() -> None:
        made.append(1)
        await answered.wait()

    metrics.prepare(prepare)
    metrics.add(lambda: [one(LEVEL, 7)])
    server = HealthServer(metrics, Readiness())
    host, port = await server.start("127.0.0.1", 0)
    url = f"http://{host}:{port}/metrics"
    async with ClientSession() as session, asyncio.TaskGroup() as group:
        tasks = [group.create_task(_answer(session, url)) for _ in range(SCRAPES_MAX + 20)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        while sum(task.done() for task in tasks) < 20:
            await asyncio.wait(
                [task for task in tasks if not task.done()], return_when=asyncio.FIRST_COMPLETED
            )
        answered.set()
    answers = [task.result() for task in tasks]
    assert sum(status == 200 and "level 7.0" in text for status, text in answers) == SCRAPES_MAX
    assert sum(status == 503 and "ask again later" in text for status, text in answers) == 20
    assert len(made) == 1
    await server.stop()


async def test_scraper_that_disconnects_early_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()
    metrics = Metrics()

    async def prepare() -> None:
        asked.set()
        await answered.wait()

    metrics.prepare(prepare)
    server = HealthServer(metrics, Readiness())
    host, port = await server.start("127.0.0.1", 0)
    _, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    await asked.wait()

    async def close_all() -> None:
        assert server._connections is not None
        for connection in list(server._connections._of_handler.values()):
            connection.abort()

    await server._there(close_all())
    answered.set()
    await close(writer)
    await server.stop()
    assert not caplog.records


async def _answer(session: ClientSession, url: str) -> tuple[int, str]:
    async with session.get(url) as reply:
        return reply.status, await reply.text()


async def test_page_in_progress_does_not_delay_the_stop() -> None:
    asked = asyncio.Event()
    metrics = Metrics()

    async def never() -> None:
        asked.set()
        await asyncio.Event().wait()

    metrics.prepare(never)
    server = HealthServer(metrics, Readiness())
    host, port = await server.start("127.0.0.1", 0)
    async with ClientSession() as session:
        asking = asyncio.ensure_future(_text(session, f"http://{host}:{port}/metrics"))
        await asked.wait()
        async with asyncio.timeout(5):
            await server.stop()
        with suppress(ClientError):
            await asking


async def test_a_port_in_use_is_a_configuration_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1:{port}"):
            await HealthServer(Metrics(), Readiness()).start("127.0.0.1", port)


# ---------------------------------------------------------------------- a loop that does not turn


def hold(pulse: Pulse | None, port: int, path: str) -> tuple[int, str]:
    """Send a request from another thread, and block this thread and its loop until the response."""
    work = nullcontext() if pulse is None else pulse.work("recovering")
    with ThreadPoolExecutor(1) as pool, work:
        return pool.submit(get_in_thread, port, path).result()


async def test_process_is_alive_while_its_loop_recovers_a_store(
    served: tuple[HealthServer, str, int],
) -> None:
    server, _, port = served
    status, text = hold(server.pulse, port, "/health/live")
    assert (status, text.startswith("alive\nrecovering for ")) == (200, True)
    status, text = hold(server.pulse, port, "/health/ready")
    assert (status, text.startswith("not ready\nbusy: recovering for ")) == (503, True)


async def test_metrics_of_a_blocked_loop_are_an_error_that_says_so(
    served: tuple[HealthServer, str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantrymq.runtime.http.health.SCRAPE_SECONDS", 0.05)
    _, _, port = served
    status, text = hold(None, port, "/metrics")
    assert (status, text.startswith("the event loop has not turned for ")) == (503, True)


async def test_waiting_questions_are_submitted_to_the_loop_once(
    served: tuple[HealthServer, str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantrymq.runtime.http.health.READY_SECONDS", 0.01)
    server, _, port = served
    for _ in range(3):
        assert hold(server.pulse, port, "/health/ready")[0] == 503
    assert len(server._questions) == 1


async def test_check_that_raises_is_an_error_response(get: Get, readiness: Readiness) -> None:
    def fail() -> str:
        raise ValueError("a bug")

    readiness.add("broken", fail)
    assert (await get("/health/ready"))[0] == 500


@pytest.fixture
async def stalling() -> AsyncIterator[tuple[VirtualClock, Pulse, int]]:
    clock = VirtualClock()
    pulse = Pulse(clock)
    server = HealthServer(Metrics(), Readiness(), pulse=pulse)
    _, port = await server.start("127.0.0.1", 0)
    yield clock, pulse, port
    await server.stop()


async def test_a_loop_that_stalls_in_normal_operation_is_dead(
    stalling: tuple[VirtualClock, Pulse, int],
) -> None:
    clock, _, port = stalling
    clock.advance(STALL_SECONDS - 1)
    assert hold(None, port, "/health/live")[0] == 200
    clock.advance(1)
    status, text = hold(None, port, "/health/live")
    assert (status, text) == (503, "stalled\nthe event loop has not turned for 60 s\n")


async def test_a_recovery_of_hours_is_no_stall_and_begins_none(
    stalling: tuple[VirtualClock, Pulse, int],
) -> None:
    clock, pulse, port = stalling
    with pulse.work("recovering the store"):
        clock.advance(7200)
        assert hold(pulse, port, "/health/live")[0] == 200
    assert hold(None, port, "/health/live") == (200, "alive\n")


async def test_a_failing_liveness_check_asks_for_a_restart() -> None:
    liveness = Readiness()
    silent: dict[str, str] = {"reflector pods": "silent for 91 s"}
    liveness.add("reflector pods", lambda: silent.get("reflector pods"))
    server = HealthServer(Metrics(), Readiness(), liveness=liveness)
    host, port = await server.start("127.0.0.1", 0)
    url = f"http://{host}:{port}/health/live"
    try:
        async with ClientSession() as session:
            async with session.get(url) as reply:
                assert reply.status == 503
                assert await reply.text() == "not alive\nreflector pods: silent for 91 s\n"
            silent.clear()
            async with session.get(url) as reply:
                assert (reply.status, await reply.text()) == (200, "alive\n")
    finally:
        await server.stop()


@pytest.mark.parametrize(
    ("path", "alias"), [("/health/live", "/healthz"), ("/health/ready", "/readyz")]
)
async def test_probes_have_the_names_that_many_tools_expect(
    get: Get, readiness: Readiness, path: str, alias: str
) -> None:
    readiness.add("disk", lambda: "full")
    assert await get(alias) == await get(path)
