"""Tests the requests of OTLP by decoding them with the protocol's own classes."""

from __future__ import annotations

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric

from gantrymq.metrics.family import Table
from gantrymq.metrics.histogram import Histogram
from gantrymq.metrics.otlp import POINTS_A_PIECE, POINTS_MAX, OtlpWriter
from gantrymq.metrics.samples import Samples, base_text, one

BEGAN_NS = 1_700_000_000_000_000_000
NOW_NS = BEGAN_NS + 5_000_000_000

TABLE = Table("test", "A table")
LEVEL = TABLE.gauge("level_bytes", "How full it is", ("tank",), unit="bytes")
SENT = TABLE.counter("sent_total", "What was sent", unit="messages")
TOOK = TABLE.histogram("took_seconds", "How long", buckets=(0.1, 1), unit="seconds")


def requests(*page: Samples, series_max: int = 100_000) -> list[ExportMetricsServiceRequest]:
    writer = OtlpWriter({"service.name": "a service"}, BEGAN_NS, series_max)
    bodies = [body for body in writer.requests(page, NOW_NS) if body]
    return [json_format.Parse(body, ExportMetricsServiceRequest()) for body in bodies]


def metrics(request: ExportMetricsServiceRequest) -> list[Metric]:
    [resource] = request.resource_metrics
    [scope] = resource.scope_metrics
    return list(scope.metrics)


def attributes(point: object) -> dict[str, str]:
    found = getattr(point, "attributes", None)
    assert found is not None
    return {each.key: each.value.string_value for each in found}


def test_a_gauge_has_its_labels_and_the_time() -> None:
    base = base_text({"cluster": 'with "quotes", \\ and\nlines'})
    [request] = requests(Samples(LEVEL, [(("left",), 2.5)], base))
    [metric] = metrics(request)
    assert (metric.name, metric.unit, metric.description) == (
        "level_bytes",
        "bytes",
        "How full it is",
    )
    [point] = metric.gauge.data_points
    assert attributes(point) == {"cluster": 'with "quotes", \\ and\nlines', "tank": "left"}
    assert (point.as_double, point.time_unix_nano) == (2.5, NOW_NS)


def test_a_counter_is_a_sum_since_the_process_began() -> None:
    [request] = requests(one(SENT, 7))
    [metric] = metrics(request)
    assert metric.sum.is_monotonic
    temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    assert metric.sum.aggregation_temporality == temporality
    [point] = metric.sum.data_points
    assert (point.as_double, point.start_time_unix_nano) == (7.0, BEGAN_NS)


def test_a_histogram_has_a_count_for_each_bucket() -> None:
    histogram = Histogram(TOOK.buckets)
    histogram.note(0.05, 3)
    histogram.note(5.0)
    [request] = requests(Samples(TOOK, [((), histogram)]))
    [metric] = metrics(request)
    [point] = metric.histogram.data_points
    assert list(point.bucket_counts) == [3, 0, 1]
    assert list(point.explicit_bounds) == [0.1, 1.0]
    assert (point.count, round(point.sum, 6)) == (4, 5.15)


def test_each_request_says_which_process_it_is_of() -> None:
    [request] = requests(one(SENT, 7))
    [resource] = request.resource_metrics
    assert attributes(resource.resource) == {"service.name": "a service"}


def test_many_series_go_in_several_requests_with_pauses_in_between() -> None:
    rows = [((str(number),), float(number)) for number in range(POINTS_MAX + 1)]
    found = requests(Samples(LEVEL, iter(rows)))
    sizes = [sum(len(each.gauge.data_points) for each in metrics(request)) for request in found]
    assert sizes == [POINTS_MAX, 1]
    writer = OtlpWriter({}, BEGAN_NS, 100_000)
    pieces = list(writer.requests([Samples(LEVEL, iter(rows))], NOW_NS))
    assert pieces.count(b"") >= POINTS_MAX // POINTS_A_PIECE


def test_no_more_series_of_a_metric_than_the_limit_are_written() -> None:
    rows = [((str(number),), 1.0) for number in range(10)]
    [request] = requests(Samples(LEVEL, rows), one(SENT, 1), series_max=4)
    level, sent = metrics(request)
    assert len(level.gauge.data_points) == 4
    assert len(sent.sum.data_points) == 1


def test_of_nothing_nothing_is_sent() -> None:
    assert requests() == []
    assert requests(Samples(LEVEL, [])) == []
