"""Tests that a broker pushes its metrics only where its settings ask for it."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.core.settings import BrokerSettings, MetricsExporter
from gantrymq.broker.metrics_push import exporter
from gantrymq.runtime.http.metrics import Metrics

PUSHING = (MetricsExporter.OTLP_GRPC, MetricsExporter.OTLP_HTTP)
TARGET = "collector:4318"


@pytest.mark.parametrize("kind", MetricsExporter)
def test_only_the_types_of_otlp_push(kind: MetricsExporter) -> None:
    settings = BrokerSettings(metrics_exporter_type=kind, metrics_grpc_exporter_target=TARGET)
    assert (exporter(settings, Metrics()) is not None) == (kind in PUSHING)


def test_without_a_target_metrics_are_not_pushed(caplog: pytest.LogCaptureFixture) -> None:
    settings = BrokerSettings(metrics_exporter_type=MetricsExporter.OTLP_HTTP)
    assert exporter(settings, Metrics()) is None
    assert "metricsGrpcExporterTarget is empty" in caplog.text


def test_a_target_that_speaks_something_else_is_refused_at_the_start() -> None:
    settings = BrokerSettings(
        metrics_exporter_type=MetricsExporter.OTLP_GRPC,
        metrics_grpc_exporter_target="collector:4317",
    )
    with pytest.raises(ConfigurationError, match="4318"):
        exporter(settings, Metrics())
