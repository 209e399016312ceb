"""Serves the HTTP endpoints of a process: liveness, readiness, metrics and further pages.

| path | answer |
|---|---|
| /health/live | 200; 503 if only a restart helps: a stalled loop (pulse.py), or a failed check |
| /health/ready | 200; 503 with each reason why not: send traffic elsewhere meanwhile |
| /metrics | Prometheus' text format; 401 if a token is required and missing |
| /healthz, /readyz | the same as the first two: many tools expect these names |
| paths given by the owner | pages of metrics with other names |
| pages given by the owner | further documents |

A thread with an event loop of its own serves them, so a probe is answered while the owner's loop
recovers a store or is flooded by clients. Checks, metrics and pages run on the owner's loop. If
that loop does not run them in time, the response is 503 and says what the loop does instead.

A connection serves one response and has a few seconds for all of it. Probes, pages and connections
without a request yet have separate slots (http_connections.py), so no other client of the port can
keep a probe from its response, or exhaust files or memory. Concurrent scrapes share one page
(shared_pages.py), and scrapes beyond a bound are refused with 503.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Final, TypeVar, cast, final

from aiohttp import web

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.http.http_connections import (
    BACKLOG,
    SCRAPES_MAX,
    HttpConnection,
    HttpConnections,
    error_logger,
)
from gantrymq.runtime.http.metrics import CONTENT_TYPE, Metrics
from gantrymq.runtime.http.shared_pages import SharedPages
from gantrymq.runtime.net.listening import listen
from gantrymq.runtime.pulse import Pulse
from gantrymq.runtime.security.bearer_token import BearerTokenFile

T = TypeVar("T")

HTML: Final = "text/html; charset=utf-8"
METRICS_PATH: Final = "/metrics"
LIVE_PATHS: Final = ("/health/live", "/healthz")
READY_PATHS: Final = ("/health/ready", "/readyz")
PROBE_PATHS: Final = frozenset((*LIVE_PATHS, *READY_PATHS))

# How long an open scrape may hold up the end of the process.
SHUTDOWN_SECONDS: Final = 2.0
METHODS: Final = ("GET", "HEAD")
# How often expired connections are closed.
GUARD_SECONDS: Final = 1.0
# How long the owner's loop may take to answer: kubelets wait 1 s by default, and a Prometheus 10 s.
READY_SECONDS: Final = 0.8
SCRAPE_SECONDS: Final = 8.0
# An owner with liveness checks of its own is stalled when its loop does not answer them in time.
LIVE_SECONDS: Final = 5.0

_TOO_MANY: Final = (
    f"{SCRAPES_MAX} requests for metrics of your address wait for their answer: ask again later\n"
)

Check = Callable[[], str | None]
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Page = Callable[[], bytes]


@final
class Readiness:
    """Named checks. Each returns None, or the reason why the process is not ready."""

    __slots__ = ("_checks",)

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        assert name not in self._checks
        self._checks[name] = check

    def reasons(self) -> dict[str, str]:
        """The reasons by check; empty when ready."""
        found = {name: check() for name, check in self._checks.items()}
        return {name: reason for name, reason in found.items() if reason is not None}


@final
class HealthServer:
    """Owns the HTTP listener and its thread.

    `start` and `stop` are called on the owner's loop, where the checks, metrics and pages run too.
    """

    __slots__ = (
        "_connections",
        "_guard",
        "_handlers",
        "_listening",
        "_liveness",
        "_loop",
        "_metrics",
        "_owner",
        "_page_type",
        "_pages",
        "_pending",
        "_questions",
        "_readiness",
        "_runner",
        "_shared",
        "_thread",
        "_token",
        "pulse",
    )

    def __init__(
        self,
        metrics: Metrics,
        readiness: Readiness,
        pages: Mapping[str, Page] | None = None,
        *,
        page_type: str = CONTENT_TYPE,
        pulse: Pulse | None = None,
        liveness: Readiness | None = None,
        more_metrics: Mapping[str, Metrics] | None = None,
        token: BearerTokenFile | None = None,
    ) -> None:
        """`page_type` is the content type of the `pages`; `pulse` is that of the owner's loop;
        `liveness` has checks whose failure only a restart repairs; `more_metrics` has metrics by
        their path; clients need a `token` to read metrics, unless it is None."""
        self._liveness = liveness
        self._readiness = readiness
        self._metrics = {METRICS_PATH: metrics, **(more_metrics or {})}
        self._pending: set[asyncio.Task[object]] = set()
        """Tasks in the owner's loop that make pages; `stop` cancels them."""
        self._pages = dict(pages or {})
        self._page_type = page_type
        self._handlers: dict[str, Handler] = {
            **dict.fromkeys(LIVE_PATHS, self._live),
            **dict.fromkeys(READY_PATHS, self._ready),
            **dict.fromkeys(self._metrics, self._scrape),
            **dict.fromkeys(self._pages, self._page),
        }
        self._runner: web.ServerRunner | None = None
        self._listening: Sequence[asyncio.Server] = ()
        self._guard: asyncio.TimerHandle | None = None
        self._connections: HttpConnections | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owner: asyncio.AbstractEventLoop | None = None
        self._questions: dict[Callable[[], object], asyncio.Future[object]] = {}
        """Questions that the owner has not answered yet; concurrent askers share one."""
        self._thread: threading.Thread | None = None
        self._token = token
        self._shared = SharedPages(self._rendered, monotonic)
        self.pulse = pulse or Pulse()

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; returns the address that is bound, which matters for port 0."""
        self._owner = asyncio.get_running_loop()
        self._loop = asyncio.new_event_loop()
        # A daemon thread does not keep a process alive whose owner has failed.
        self._thread = threading.Thread(
            target=_turn, args=(self._loop,), name="health", daemon=True
        )
        self._thread.start()
        self.pulse.start()
        try:
            return await self._there(self._listen(host, port))
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        self.pulse.stop()
        for task in self._pending:
            task.cancel()
        if self._loop is None or self._thread is None:
            return
        await self._there(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()  # returns at once: the thread runs nothing else
        self._loop = self._thread = None

    async def _there(self, work: Coroutine[None, None, T]) -> T:
        """Run `work` on the thread's loop."""
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    # ------------------------------------------------------------------ within the thread

    async def _listen(self, host: str, port: int) -> tuple[str, int]:
        self._connections = HttpConnections(asyncio.get_running_loop().time)
        server = web.Server(self._respond, access_log=None, logger=error_logger())
        self._runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        try:
            self._listening = await listen(self._accept, host, port, backlog=BACKLOG)
        except OSError as error:
            raise ConfigurationError(
                f"health and metrics: cannot listen on {host}:{port}: {error.strerror or error}"
            ) from error
        self._cut_old()
        bound = self._listening[0].sockets[0].getsockname()
        return str(bound[0]), int(bound[1])

    async def _close(self) -> None:
        if self._guard is not None:
            self._guard.cancel()
        for listening in self._listening:
            listening.close()
        self._shared.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _accept(self) -> asyncio.Protocol:
        assert self._runner is not None
        assert self._connections is not None
        server = self._runner.server
        assert server is not None
        return HttpConnection(server(), self._connections)

    def _cut_old(self) -> None:
        """Close all connections whose time is over; runs once a second."""
        assert self._connections is not None
        self._connections.expire()
        self._shared.expire()
        loop = asyncio.get_running_loop()
        self._guard = loop.call_later(GUARD_SECONDS, self._cut_old)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """The response to any request.

        aiohttp's router is not used: it evaluates `Expect` headers, which matter to requests with a
        body only, and logs a traceback for those that it cannot answer.
        """
        path = request.path
        if path not in self._metrics:
            assert self._connections is not None
            self._connections.asked(request.protocol, is_probe=path in PROBE_PATHS)
        handler = self._handlers.get(path)
        if handler is None:
            return _closing(web.Response(status=404, text="not found\n"))
        if request.method not in METHODS:
            allowed = {"Allow": ", ".join(METHODS)}
            return _closing(web.Response(status=405, headers=allowed, text="only GET and HEAD\n"))
        response = await handler(request)
        return response if response.prepared else _closing(response)

    async def _live(self, request: web.BaseRequest) -> web.Response:
        del request
        pulse = self.pulse
        if pulse.is_stalled:
            return web.Response(status=503, text=f"stalled\n{pulse.silence}\n")
        if self._liveness is not None:
            reasons = await self._ask(self._liveness.reasons, LIVE_SECONDS)
            if reasons is None:
                return web.Response(status=503, text=f"stalled\n{pulse.silence}\n")
            if reasons:
                lines = "".join(f"{name}: {reason}\n" for name, reason in reasons.items())
                return web.Response(status=503, text="not alive\n" + lines)
        working = pulse.working
        return web.Response(text="alive\n" if working is None else f"alive\n{working}\n")

    async def _ready(self, request: web.BaseRequest) -> web.Response:
        del request
        reasons = await self._ask(self._readiness.reasons, READY_SECONDS)
        if reasons is None:
            reasons = {"busy": self.pulse.working or self.pulse.silence}
        if not reasons:
            return web.Response(text="ready\n")
        lines = "".join(f"{name}: {reason}\n" for name, reason in reasons.items())
        return web.Response(status=503, text="not ready\n" + lines)

    async def _scrape(self, request: web.BaseRequest) -> web.StreamResponse:
        token = self._token
        if token is not None and not token.allows(request.headers.get("Authorization")):
            return web.Response(
                status=401,
                headers={"WWW-Authenticate": "Bearer"},
                text="metricsTokenFile is set: send its token, as Authorization: Bearer TOKEN\n",
            )
        connections = self._connections
        assert connections is not None
        if not connections.takes_scrape(request.protocol):
            return web.Response(status=503, headers={"Retry-After": "1"}, text=_TOO_MANY)
        chunks = await self._shared.page(request.path, SCRAPE_SECONDS)
        connections.has_page(request.protocol)
        if chunks is None:
            return self._document(None, CONTENT_TYPE)
        response = _closing(web.StreamResponse(headers={"Content-Type": CONTENT_TYPE}))
        response.content_length = sum(map(len, chunks))
        # The peer may have closed, or its slot may have gone to another connection.
        with suppress(ConnectionError):
            await response.prepare(request)
            for chunk in chunks:
                await response.write(chunk)
        return response

    async def _rendered(self, path: str) -> Sequence[bytes]:
        """A new page of metrics, made on the owner's loop."""
        return cast("Sequence[bytes]", await self._question(self._metrics[path].page))

    async def _page(self, request: web.BaseRequest) -> web.Response:
        page = await self._ask(self._pages[request.path], SCRAPE_SECONDS)
        return self._document(page, self._page_type)

    def _document(self, body: bytes | None, kind: str) -> web.Response:
        if body is None:
            return web.Response(status=503, text=f"{self.pulse.working or self.pulse.silence}\n")
        return web.Response(body=body, headers={"Content-Type": kind})

    async def _ask(self, question: Callable[[], T], seconds: float) -> T | None:
        """The owner's answer; None if its loop does not run the question in time."""
        asked = self._question(question)
        done, _ = await asyncio.wait([asked], timeout=seconds)
        return cast("T", asked.result()) if done else None

    def _question(self, question: Callable[[], object]) -> asyncio.Future[object]:
        """The answer to a question; joins one that is already in progress."""
        asked = self._questions.get(question)
        if asked is None:
            asked = self._questions[question] = self._put(question)
            asked.add_done_callback(lambda _: self._questions.pop(question, None))
        return asked

    def _put(self, question: Callable[[], object]) -> asyncio.Future[object]:
        """Run the question on the owner's loop."""
        answer: concurrent.futures.Future[object] = concurrent.futures.Future()

        def answer_it() -> None:
            try:
                said = question()
            except Exception as error:
                answer.set_exception(error)
                return
            if isinstance(said, Coroutine):
                self._await(said, answer)
            else:
                answer.set_result(said)

        assert self._owner is not None
        self._owner.call_soon_threadsafe(answer_it)
        return asyncio.wrap_future(answer)

    def _await(
        self, said: Coroutine[Any, Any, object], answer: concurrent.futures.Future[object]
    ) -> None:
        """Run a coroutine in the owner's loop, and pass its result or error on as the answer."""
        task = asyncio.ensure_future(said)
        self._pending.add(task)

        def end(task: asyncio.Task[object]) -> None:
            self._pending.discard(task)
            if task.cancelled():
                answer.cancel()
            elif (error := task.exception()) is not None:
                answer.set_exception(error)
            else:
                answer.set_result(task.result())

        task.add_done_callback(end)


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    """The main function of the thread."""
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.close()


def _closing(response: web.StreamResponse) -> web.StreamResponse:
    """The response, after which its connection is closed."""
    response.headers["Connection"] = "close"
    response.force_close()
    return response
