"""Writes Prometheus' text format (version 0.0.4) in pieces; the caller may pause between two.

    # HELP rocketmq_topic_number Topics, system topics included
    # TYPE rocketmq_topic_number gauge
    rocketmq_topic_number{cluster="c",node_type="broker",node_id="b"} 22

Invariants: a piece has at most LINES_A_PIECE lines and ends with a whole line. At most `series_max`
series of a metric are written. Further series are counted and left out, as OpenTelemetry's
cardinality limit does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, islice
from typing import Final, TypeAlias, final

from gantrymq.metrics.family import Family, Kind
from gantrymq.metrics.histogram import Histogram
from gantrymq.metrics.samples import Labels, Row, Samples, escaped

# About a third of a millisecond of work.
LINES_A_PIECE: Final = 200

# The lines of a histogram besides those of its bounds: +Inf, the sum and the count.
_MORE_LINES: Final = 3

_reserved: Final = re.compile(r'[\\"\n]').search

Writer: TypeAlias = Callable[[Sequence[Row]], str]


@final
class PageWriter:
    """Writes one page. `dropped` has the number of series that were left out of each metric."""

    __slots__ = ("_series_max", "dropped")

    def __init__(self, series_max: int) -> None:
        self._series_max = series_max
        self.dropped: dict[str, int] = {}

    def pieces(self, page: Iterable[Samples]) -> Iterator[str]:
        """The text of these metrics, in their order. A piece may be empty."""
        for samples in page:
            yield from self._metric(samples)

    def _metric(self, samples: Samples) -> Iterator[str]:
        family = samples.family
        write, rows_max = _writer_of(family, samples.base)
        piece = f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind.value}\n"
        rows = iter(samples.rows)
        left = self._series_max
        while some := list(islice(rows, min(rows_max, left))):
            left -= len(some)
            yield piece + write(some)
            piece = ""
        yield piece
        yield from self._drop(family, rows)

    def _drop(self, family: Family, rows: Iterator[Row]) -> Iterator[str]:
        """Count the remaining rows as dropped, with pauses."""
        while count := sum(1 for _ in islice(rows, LINES_A_PIECE)):
            self.dropped[family.name] = self.dropped.get(family.name, 0) + count
            yield ""


def _writer_of(family: Family, base: str) -> tuple[Writer, int]:
    """A function that writes rows of this metric, and the number of rows in a piece."""
    names = ",".join(f'{name}="%s"' for name in family.labels)
    labels = ",".join(filter(None, (_literal(base), names)))
    if family.kind is not Kind.HISTOGRAM:
        line = f"{family.name}{{{labels}}} %s\n" if labels else f"{family.name} %s\n"
        return partial(_plain_rows, line), LINES_A_PIECE
    lines = len(family.buckets) + _MORE_LINES
    return partial(_histogram_rows, family, labels), max(1, LINES_A_PIECE // lines)


def _literal(text: str) -> str:
    return text.replace("%", "%%")


def _plain_rows(line: str, rows: Sequence[Row]) -> str:
    # Only rows of histograms have Histogram values, and _writer_of gives those another writer.
    return "".join(
        [line % (*labels, float(value)) for labels, value in _safe(rows)]  # type: ignore[arg-type]
    )


def _histogram_rows(family: Family, labels: str, rows: Sequence[Row]) -> str:
    name = family.name
    bounds = [*map(float, family.buckets), "+Inf"]
    opened = "{%s," if labels else "{%s"  # of `le`, which comes behind the other labels
    closed = "{%s}" if labels else "%s"
    text = "".join(f'{name}_bucket{opened}le="{bound}"}} %d.0\n' for bound in bounds)
    text += f"{name}_sum{closed} %s\n{name}_count{closed} %d.0\n"
    return "".join([text % _histogram_values(labels % each, value) for each, value in _safe(rows)])


def _histogram_values(labels: str, value: object) -> tuple[object, ...]:
    """The values that the lines of one histogram show, in the order of the lines."""
    assert isinstance(value, Histogram), "a histogram has no plain values"
    values: list[object] = []
    count = 0
    for count in accumulate(value.counts):
        values += (labels, count)
    return (*values, labels, float(value.total), labels, count)


def _safe(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows with all label values escaped. Most rows need no escaping and stay as they are."""
    if not _reserved("".join(chain.from_iterable(labels for labels, _ in rows))):
        return rows
    return [(_escaped_labels(labels), value) for labels, value in rows]


def _escaped_labels(labels: Labels) -> Labels:
    return tuple(map(escaped, labels))
