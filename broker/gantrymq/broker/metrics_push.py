"""Creates the exporter that pushes a broker's metrics, if the settings ask for one."""

from __future__ import annotations

import socket
from typing import Final

from gantrymq.broker.core.settings import BrokerSettings, MetricsExporter
from gantrymq.runtime.http.metrics import Metrics
from gantrymq.runtime.http.otlp import OtlpExporter, OtlpTarget
from gantrymq.runtime.logs import Log

SERVICE: Final = "gantry-broker"

_PUSHING: Final = (MetricsExporter.OTLP_GRPC, MetricsExporter.OTLP_HTTP)


def exporter(settings: BrokerSettings, metrics: Metrics) -> OtlpExporter | None:
    """The exporter that the settings ask for; None if they ask for none.

    Raises ConfigurationError if the target is invalid.
    """
    kind, target = settings.metrics_exporter_type, settings.metrics_grpc_exporter_target.strip()
    if kind not in _PUSHING:
        return None
    if not target:  # like Java's broker, run without pushing
        Log("otlp").warning("no metrics are pushed: metricsGrpcExporterTarget is empty", type=kind)
        return None
    instance = f"{socket.gethostname()}:{settings.listen_port}"
    return OtlpExporter(
        OtlpTarget.of(
            target,
            settings.metrics_grpc_exporter_header,
            settings.metric_grpc_exporter_interval_in_mills,
            settings.metric_grpc_exporter_time_out_in_mills,
        ),
        metrics,
        {"service.name": SERVICE, "service.instance.id": instance},
        settings.metrics_otel_cardinality_limit,
    )
