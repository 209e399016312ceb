"""The HTTP endpoint of a process: is it alive, is it ready, what does it count.

| path | answer |
|---|---|
| /health/live | 200 while the event loop turns; a process that fails this is to be restarted |
| /health/ready | 200, or 503 with each reason why not; traffic is to go elsewhere meanwhile |
| /metrics | Prometheus' text format |
| pages given by the owner | further documents: metrics under other names, or HTML |

A connection serves one answer and has a few seconds for all of it, and there are only so many: who
probes and scrapes is a handful, whoever else finds the port cannot use up files or memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from aiohttp import web

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.listening import listen
from gantrymq.runtime.metrics import CONTENT_TYPE, Metrics

HTML: Final = "text/html; charset=utf-8"

# How long an open scrape may hold up the end of the process.
SHUTDOWN_SECONDS: Final = 2.0
# Nobody has a body to send to these paths.
BODY_BYTES_MAX: Final = 4096
# Prometheus' own default for a scrape.
CONNECTION_SECONDS: Final = 10.0
CONNECTIONS_MAX: Final = 64
# How often connections are looked at.
GUARD_SECONDS: Final = 1.0

Check = Callable[[], str | None]
Page = Callable[[], bytes]


@final
class Readiness:
    """Named checks. Each says None, or why the process is not ready."""

    __slots__ = ("_checks",)

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        assert name not in self._checks
        self._checks[name] = check

    def reasons(self) -> dict[str, str]:
        """What is missing; empty when ready."""
        found = {name: check() for name, check in self._checks.items()}
        return {name: reason for name, reason in found.items() if reason is not None}


@final
class HealthServer:
    """Owner of the HTTP listener. `start`, then `stop`."""

    __slots__ = (
        "_born_at",
        "_guard",
        "_listening",
        "_metrics",
        "_page_type",
        "_pages",
        "_readiness",
        "_runner",
    )

    def __init__(
        self,
        metrics: Metrics,
        readiness: Readiness,
        pages: Mapping[str, Page] | None = None,
        *,
        page_type: str = CONTENT_TYPE,
    ) -> None:
        """`page_type` is the content type of the `pages`."""
        self._readiness = readiness
        self._metrics = metrics
        self._pages = dict(pages or {})
        self._page_type = page_type
        self._runner: web.AppRunner | None = None
        self._listening: Sequence[asyncio.Server] = ()
        self._guard: asyncio.TimerHandle | None = None
        self._born_at: dict[web.RequestHandler, float] = {}

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; returns the address, for port 0."""
        self._runner = web.AppRunner(
            self._application(), access_log=None, shutdown_timeout=SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        try:
            self._listening = await listen(self._accept, host, port)
        except OSError as error:
            await self.stop()
            raise ConfigurationError(
                f"health and metrics: cannot listen on {host}:{port}: {error.strerror or error}"
            ) from error
        self._cut_old()
        bound = self._listening[0].sockets[0].getsockname()
        return str(bound[0]), int(bound[1])

    async def stop(self) -> None:
        if self._guard is not None:
            self._guard.cancel()
        for listening in self._listening:
            listening.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _accept(self) -> asyncio.Protocol:
        assert self._runner is not None
        server = self._runner.server
        assert server is not None
        return server() if len(server.connections) < CONNECTIONS_MAX else _Refused()

    def _cut_old(self) -> None:
        """Cut off whoever has had his time; once a second, since no single one needs a timer."""
        if self._runner is None or self._runner.server is None:
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        living = self._runner.server.connections
        self._born_at = {handler: self._born_at.get(handler, now) for handler in living}
        for handler, born_at in self._born_at.items():
            if born_at + CONNECTION_SECONDS <= now and handler.transport is not None:
                handler.transport.abort()
        self._guard = loop.call_later(GUARD_SECONDS, self._cut_old)

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=BODY_BYTES_MAX)
        application.on_response_prepare.append(_close_after)
        application.router.add_get("/health/live", self._live)
        application.router.add_get("/health/ready", self._ready)
        application.router.add_get("/metrics", self._scrape)
        for path in self._pages:
            application.router.add_get(path, self._page)
        return application

    async def _live(self, request: web.Request) -> web.Response:
        del request
        return web.Response(text="alive\n")

    async def _ready(self, request: web.Request) -> web.Response:
        del request
        reasons = self._readiness.reasons()
        if not reasons:
            return web.Response(text="ready\n")
        lines = "".join(f"{name}: {reason}\n" for name, reason in reasons.items())
        return web.Response(status=503, text="not ready\n" + lines)

    async def _scrape(self, request: web.Request) -> web.Response:
        del request
        body = self._metrics.exposition()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async def _page(self, request: web.Request) -> web.Response:
        body = self._pages[request.path]()
        return web.Response(body=body, headers={"Content-Type": self._page_type})


async def _close_after(request: web.Request, response: web.StreamResponse) -> None:
    del request
    response.headers["Connection"] = "close"
    response.force_close()


@final
class _Refused(asyncio.Protocol):
    """One connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
