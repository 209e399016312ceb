"""Decides which ranges of offsets the filters of a query exclude.

Filters on topic, brokerName, queueId and queueOffset count. Invariant: an excluded range has no row
that matches the filters. Spark applies all filters to the rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, final

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from gantrymq.spark.options.assignment import OFFSET_MAX
from gantrymq.spark.source.planning.bounds import QueueSpan

_NAMES: Final = {"topic", "brokername", "queueid"}
_OFFSET: Final = "queueoffset"


@final
@dataclass(slots=True)
class PushedFilters:
    """The remaining values of each filtered column, and the remaining range of offsets."""

    allowed: dict[str, frozenset[object]] = field(default_factory=dict)
    first: int = 0
    end: int = OFFSET_MAX

    @classmethod
    def of(cls, filters: Iterable[Filter]) -> PushedFilters:
        """Combine filters that must all match."""
        pushed = cls()
        for each in filters:
            pushed._take(each)
        return pushed

    def kept(self, spans: Iterable[QueueSpan]) -> Iterator[QueueSpan]:
        """Yield the parts of the ranges that may have matching rows."""
        for span in spans:
            values = zip(("topic", "brokername", "queueid"), span.queue, strict=True)
            if all(value in self.allowed.get(name, {value}) for name, value in values):
                start, end = max(span.start, self.first), min(span.end, self.end)
                if start < end:
                    yield span._replace(start=start, end=end)

    def _take(self, each: Filter) -> None:
        match each:
            case EqualTo((name,), value):
                self._only(name.casefold(), frozenset({value}))
            case In((name,), values):
                self._only(name.casefold(), frozenset(values))
            case GreaterThanOrEqual((name,), int(value)) if name.casefold() == _OFFSET:
                self.first = max(self.first, value)
            case GreaterThan((name,), int(value)) if name.casefold() == _OFFSET:
                self.first = max(self.first, value + 1)
            case LessThan((name,), int(value)) if name.casefold() == _OFFSET:
                self.end = min(self.end, value)
            case LessThanOrEqual((name,), int(value)) if name.casefold() == _OFFSET:
                self.end = min(self.end, value + 1)
            case _:
                pass  # Spark applies it to the rows

    def _only(self, name: str, values: frozenset[object]) -> None:
        if name in _NAMES:
            self.allowed[name] = values & self.allowed.get(name, values)
        elif name == _OFFSET:
            offsets = [value for value in values if isinstance(value, int)]
            if offsets:
                self.first = max(self.first, min(offsets))
                self.end = min(self.end, max(offsets) + 1)
