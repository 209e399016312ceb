"""Writes samples as requests of the OpenTelemetry protocol, in its JSON form (OTLP 1.x).

    {"resourceMetrics": [{"resource": ..., "scopeMetrics": [{"scope": ..., "metrics": [
        {"name": "gantry_broker_topics", "gauge": {"dataPoints": [
            {"attributes": ..., "timeUnixNano": "1700000000000000000", "asDouble": 3.0}]}}]}]}]}

Counters and histograms are cumulative since the process began. Names, labels and values are the
same as on the page for Prometheus.

Invariants: a request has at most POINTS_MAX data points; between two pauses at most POINTS_A_PIECE
points are written; a metric has at most `series_max` series.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias, final

from gantrymq.metrics.family import Family, Kind
from gantrymq.metrics.histogram import Histogram
from gantrymq.metrics.samples import Row, Samples

# About a millisecond of work.
POINTS_A_PIECE: Final = 100

# Half a megabyte. Collectors accept 20 MiB, but a process holds the request while one is slow.
POINTS_MAX: Final = 2000

SCOPE: Final = "gantrymq"

_CUMULATIVE: Final = 2
_PAIR: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")

# Any: a value of JSON
Json: TypeAlias = dict[str, Any]


@final
class OtlpWriter:
    """Writes the requests of one process, whose counters began to count at `began_ns`."""

    __slots__ = ("_began_ns", "_resource", "_series_max")

    def __init__(self, resource: Mapping[str, str], began_ns: int, series_max: int) -> None:
        """`resource` has the attributes that identify the process, such as service.name."""
        self._resource = _attributes(resource.items())
        self._began_ns = str(began_ns)
        self._series_max = series_max

    def requests(self, page: Iterable[Samples], now_ns: int) -> Iterator[bytes]:
        """The bodies of the requests. An empty body stands for a pause: the caller may let other
        work run before it goes on."""
        metrics: list[Json] = []
        points = 0
        for metric, count in self._metrics(page, str(now_ns)):
            if metrics and points + count > POINTS_MAX:
                yield self._request(metrics)
                metrics, points = [], 0
            metrics.append(metric)
            points += count
            yield b""
        if metrics:
            yield self._request(metrics)

    def _metrics(self, page: Iterable[Samples], now_ns: str) -> Iterator[tuple[Json, int]]:
        """Pieces of each metric, with the number of data points in each piece."""
        for samples in page:
            common = _attributes(_pairs(samples.base))
            left = self._series_max
            rows = iter(samples.rows)
            while some := list(islice(rows, min(POINTS_A_PIECE, left))):
                left -= len(some)
                yield self._metric(samples.family, common, some, now_ns), len(some)

    def _metric(
        self, family: Family, common: Sequence[Json], rows: Sequence[Row], now_ns: str
    ) -> Json:
        times = {"timeUnixNano": now_ns}
        if family.kind is not Kind.GAUGE:
            times["startTimeUnixNano"] = self._began_ns
        points = [
            {
                "attributes": [*common, *_attributes(zip(family.labels, labels, strict=True))],
                **times,
                **_value(value),
            }
            for labels, value in rows
        ]
        data: Json = {"dataPoints": points}
        if family.kind is not Kind.GAUGE:
            data["aggregationTemporality"] = _CUMULATIVE
        if family.kind is Kind.COUNTER:
            data["isMonotonic"] = True
        shape = {Kind.GAUGE: "gauge", Kind.COUNTER: "sum", Kind.HISTOGRAM: "histogram"}
        return {
            "name": family.name,
            "description": family.help,
            "unit": family.unit,
            shape[family.kind]: data,
        }

    def _request(self, metrics: Sequence[Json]) -> bytes:
        scope = {"scope": {"name": SCOPE}, "metrics": metrics}
        resource = {"resource": {"attributes": self._resource}, "scopeMetrics": [scope]}
        return json.dumps({"resourceMetrics": [resource]}, separators=(",", ":")).encode()


def _value(value: float | Histogram) -> Json:
    """The value of a data point. In OTLP's JSON form 64-bit integers are strings."""
    if not isinstance(value, Histogram):
        return {"asDouble": float(value)}
    return {
        "count": str(value.count),
        "sum": float(value.total),
        "bucketCounts": [str(count) for count in value.counts],
        "explicitBounds": [float(bound) for bound in value.bounds],
    }


def _attributes(pairs: Iterable[tuple[str, str]]) -> list[Json]:
    return [{"key": name, "value": {"stringValue": value}} for name, value in pairs]


def _pairs(base: str) -> Iterator[tuple[str, str]]:
    """The names and values of the labels in `Samples.base`."""
    for name, value in _PAIR.findall(base):
        yield name, _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], value)
