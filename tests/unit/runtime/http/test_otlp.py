"""Tests pushes over real HTTP to a receiver that works, refuses, or does not answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator

import pytest
from aiohttp import web
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from gantrymq.base.errors import ConfigurationError
from gantrymq.fakes_kube.waiting import until
from gantrymq.metrics.samples import Samples, one
from gantrymq.metrics.tables import broker as table
from gantrymq.runtime.http.metrics import Metrics
from gantrymq.runtime.http.otlp import OtlpExporter, OtlpTarget


class Receiver:
    """A collector's receiver of OTLP over HTTP; it answers with `status`."""

    def __init__(self) -> None:
        self.requests: list[ExportMetricsServiceRequest] = []
        self.headers: list[str] = []
        self.status = 200
        self.hangs = False
        self.asked = 0
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self.hangs:
            await asyncio.sleep(3600)
        assert request.content_type == "application/json"
        self.headers.append(request.headers.get("Tenant", ""))
        body = await request.read()
        self.requests.append(json_format.Parse(body, ExportMetricsServiceRequest()))
        return web.json_response({}, status=self.status)

    def names(self) -> set[str]:
        return {
            metric.name
            for request in self.requests
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    application = web.Application(client_max_size=20 << 20)
    application.router.add_post("/v1/metrics", receiver.take)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    receiver.url = f"{host}:{port}"
    yield receiver
    await runner.cleanup()


@pytest.fixture
async def exporters(receiver: Receiver) -> AsyncIterator[list[OtlpExporter]]:
    """A list for exporters that a test starts. They are stopped at its end."""
    started: list[OtlpExporter] = []
    yield started
    for exporter in started:
        await exporter.stop()


def samples() -> Iterator[Samples]:
    yield one(table.TOPICS, 3)
    yield Samples(table.WORKS, (((), number) for number in range(1)))


def exporter_to(url: str, headers: str = "", timeout_ms: int = 3000) -> OtlpExporter:
    metrics = Metrics()
    metrics.add(samples)
    target = OtlpTarget.of(url, headers, interval_ms=50, timeout_ms=timeout_ms)
    return OtlpExporter(target, metrics, {"service.name": "s"}, 1000)


async def test_all_metrics_arrive_at_each_interval(
    receiver: Receiver, exporters: list[OtlpExporter]
) -> None:
    exporters.append(exporter_to(receiver.url, "Tenant: one"))
    exporters[0].start()
    await until(lambda: len(receiver.requests) >= 2)
    names = {"gantry_broker_topics", "gantry_broker_works", "process_cpu_seconds_total"}
    assert names <= receiver.names()
    assert set(receiver.headers) == {"one"}


@pytest.mark.parametrize("trouble", ["refuses", "hangs"])
async def test_failing_collector_is_logged_once_and_retried(
    trouble: str,
    receiver: Receiver,
    exporters: list[OtlpExporter],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    receiver.status, receiver.hangs = (503, False) if trouble == "refuses" else (200, True)
    exporters.append(exporter_to(receiver.url, timeout_ms=100))
    exporters[0].start()
    await until(lambda: receiver.asked >= 3)
    receiver.status, receiver.hangs = 200, False
    await until(lambda: "pushing metrics again" in caplog.text)
    assert caplog.text.count("cannot push metrics") == 1


async def test_missing_collector_delays_nothing(
    exporters: list[OtlpExporter], caplog: pytest.LogCaptureFixture
) -> None:
    exporters.append(exporter_to("127.0.0.1:1"))
    exporters[0].start()
    await until(lambda: "cannot push metrics" in caplog.text)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("collector:4318", "http://collector:4318/v1/metrics"),
        ("https://collector/", "https://collector/v1/metrics"),
        ("http://collector:8080/otlp/v1/metrics", "http://collector:8080/otlp/v1/metrics"),
    ],
)
def test_targets_are_addresses_or_urls(given: str, url: str) -> None:
    assert OtlpTarget.of(given, "", 1000, 1000).url == url


@pytest.mark.parametrize("given", ["grpc://collector:1", "http://", "collector:4317"])
def test_invalid_targets_are_refused(given: str) -> None:
    with pytest.raises(ConfigurationError, match="metricsGrpcExporterTarget"):
        OtlpTarget.of(given, "", 1000, 1000)
