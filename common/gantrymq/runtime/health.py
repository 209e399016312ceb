"""The HTTP endpoint of a process: is it alive, is it ready, what does it count.

| path | answer |
|---|---|
| /health/live | 200 while the event loop turns; a process that fails this is to be restarted |
| /health/ready | 200, or 503 with each reason why not; traffic is to go elsewhere meanwhile |
| /metrics | Prometheus' text format |
| pages given by the owner | further documents, say the same metrics under other names |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, final

from aiohttp import web

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.metrics import CONTENT_TYPE, Metrics

# How long an open scrape may hold up the end of the process.
SHUTDOWN_SECONDS: Final = 2.0
# Nobody has a body to send to these paths.
BODY_BYTES_MAX: Final = 4096

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

    __slots__ = ("_pages", "_readiness", "_runner")

    def __init__(
        self, metrics: Metrics, readiness: Readiness, pages: Mapping[str, Page] | None = None
    ) -> None:
        self._readiness = readiness
        self._pages = {"/metrics": metrics.exposition, **(pages or {})}
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; returns the address, for port 0."""
        self._runner = web.AppRunner(
            self._application(), access_log=None, shutdown_timeout=SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host or None, port).start()
        except OSError as error:
            await self.stop()
            raise ConfigurationError(
                f"health and metrics: cannot listen on {host}:{port}: {error.strerror or error}"
            ) from error
        bound = self._runner.addresses[0]
        return str(bound[0]), int(bound[1])

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=BODY_BYTES_MAX)
        application.router.add_get("/health/live", self._live)
        application.router.add_get("/health/ready", self._ready)
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

    async def _page(self, request: web.Request) -> web.Response:
        body = self._pages[request.path]()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})
