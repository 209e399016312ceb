"""Pushes a process's metrics to an OpenTelemetry collector, over HTTP.

A task reads the metrics once each interval, in the event loop that owns their state. After each
SLICE_SECONDS of work it lets other work of the loop run first. Requests never queue: the next one
is made when the last one was answered. If the collector does not answer in time, the push ends, and
the next interval's cumulative values make up for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import aiohttp

from gantrymq.base.errors import ConfigurationError
from gantrymq.metrics.otlp import OtlpWriter
from gantrymq.runtime.http.metrics import SLICE_SECONDS, Metrics
from gantrymq.runtime.logs import Log

PATH: Final = "/v1/metrics"
GRPC_PORT: Final = 4317
ANSWER_BYTES_MAX: Final = 1000

_HEADERS: Final = {"Content-Type": "application/json"}


@final
@dataclass(frozen=True, slots=True)
class OtlpTarget:
    """The collector's address, and the interval and timeout of pushes."""

    url: str
    headers: Mapping[str, str]
    interval_seconds: float
    timeout_seconds: float

    @classmethod
    def of(cls, target: str, headers: str, interval_ms: int, timeout_ms: int) -> OtlpTarget:
        """The target that the settings describe: `target` is `host:port` or a URL, and `headers` is
        `name:value,name:value`."""
        url = target if "://" in target else f"http://{target}"
        scheme, _, rest = url.partition("://")
        place, _, path = rest.partition("/")
        if scheme not in ("http", "https") or not place:
            raise ConfigurationError(
                f"metricsGrpcExporterTarget={target} is no address: give host:4318, or the URL of a"
                " collector's OTLP receiver over HTTP"
            )
        if place.endswith(f":{GRPC_PORT}"):
            raise ConfigurationError(
                f"metricsGrpcExporterTarget={target} is the port of OTLP over gRPC, and this broker"
                " speaks OTLP over HTTP: give the collector's other port, which is 4318"
            )
        pairs = (pair.partition(":") for pair in headers.split(",") if ":" in pair)
        return cls(
            f"{scheme}://{place}/{path}" if path else f"{scheme}://{place}{PATH}",
            {name.strip(): value.strip() for name, _, value in pairs},
            interval_ms / 1000,
            timeout_ms / 1000,
        )


@final
class OtlpExporter:
    """Pushes the metrics of one process, from `start` until `stop`."""

    def __init__(
        self, target: OtlpTarget, metrics: Metrics, resource: Mapping[str, str], series_max: int
    ) -> None:
        self._target = target
        self._metrics = metrics
        self._log = Log("otlp")
        self._task: asyncio.Task[None] | None = None
        self._writer = OtlpWriter(resource, time.time_ns(), series_max)
        self._problem = ""
        """Why the last push failed; empty if it succeeded."""

    def start(self) -> None:
        self._log.info("pushing metrics", to=self._target.url)
        self._task = asyncio.create_task(self._run(), name="OTLP export")

    async def stop(self) -> None:
        """Stop at once, without a last push."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=self._target.timeout_seconds)
        headers = {**_HEADERS, **self._target.headers}
        async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
            while True:
                self._tell(await self._push(session))
                await asyncio.sleep(self._target.interval_seconds)

    async def _push(self, session: aiohttp.ClientSession) -> str:
        """Push all metrics once; why the push failed, or empty."""
        page = await self._metrics.samples()
        began = time.perf_counter()
        for body in self._writer.requests(page, time.time_ns()):
            if body:
                problem = await self._post(session, body)
                if problem:
                    return problem
                began = time.perf_counter()
            elif time.perf_counter() - began >= SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
        return ""

    async def _post(self, session: aiohttp.ClientSession, body: bytes) -> str:
        try:
            async with session.post(self._target.url, data=body) as answer:
                if answer.ok:
                    return ""
                said = await answer.content.read(ANSWER_BYTES_MAX)
                return f"HTTP {answer.status}: {said.decode(errors='replace')}"
        except TimeoutError:
            return f"no answer within {self._target.timeout_seconds:g} s"
        except aiohttp.ClientError as error:
            return str(error) or type(error).__name__

    def _tell(self, problem: str) -> None:
        """Log that pushes begin to fail or succeed again, once for each change."""
        if problem and not self._problem:
            self._log.warning("cannot push metrics", to=self._target.url, why=problem)
        elif self._problem and not problem:
            self._log.info("pushing metrics again", to=self._target.url)
        self._problem = problem
