"""Describes metrics: Family is one metric, Table is all metrics of one component."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.base.errors import LocalError


class Kind(Enum):
    """The types of Prometheus' text format that are in use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Origin(Enum):
    """Who defined the name of a metric."""

    GANTRY = "Gantry"
    ROCKETMQ_5 = "RocketMQ 5.x"
    EXPORTER_4 = "rocketmq-exporter (4.x)"


@final
@dataclass(frozen=True, slots=True)
class Family:
    """One metric.

    `panel` is "row: title" of the dashboard panel that shows it and `alert` the rule that uses it;
    both are "" where there is none.
    """

    name: str
    """As the page has it: with its unit, and counters with `_total`."""
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram, ascending, without +Inf."""
    origin: Origin = Origin.GANTRY
    panel: str = ""
    alert: str = ""


@final
class Table:
    """The metrics of one component, in the order of its page.

    `base_labels` are on every sample of the component; `path` is where its page is served.
    """

    __slots__ = ("_families", "_origin", "base_labels", "component", "path", "title")

    def __init__(
        self,
        component: str,
        title: str,
        *,
        path: str = "/metrics",
        base_labels: Sequence[str] = (),
        origin: Origin = Origin.GANTRY,
    ) -> None:
        self.component: Final = component
        self.title: Final = title
        self.path: Final = path
        self.base_labels: Final = tuple(base_labels)
        self._origin: Final = origin
        self._families: dict[str, Family] = {}

    def __iter__(self) -> Iterator[Family]:
        return iter(self._families.values())

    def __len__(self) -> int:
        return len(self._families)

    def counter(
        self,
        name: str,
        about: str,
        labels: Sequence[str] = (),
        *,
        unit: str = "",
        panel: str = "",
        alert: str = "",
    ) -> Family:
        """Enter a metric that only grows while the process lives."""
        return self._enter(name, Kind.COUNTER, about, labels, unit, (), panel, alert)

    def gauge(
        self,
        name: str,
        about: str,
        labels: Sequence[str] = (),
        *,
        unit: str = "",
        panel: str = "",
        alert: str = "",
    ) -> Family:
        """Enter a metric that shows a value of the moment."""
        return self._enter(name, Kind.GAUGE, about, labels, unit, (), panel, alert)

    def histogram(
        self,
        name: str,
        about: str,
        labels: Sequence[str] = (),
        *,
        buckets: Sequence[float],
        unit: str = "",
        panel: str = "",
        alert: str = "",
    ) -> Family:
        """Enter a metric that counts values by size."""
        return self._enter(name, Kind.HISTOGRAM, about, labels, unit, buckets, panel, alert)

    def _enter(
        self,
        name: str,
        kind: Kind,
        about: str,
        labels: Sequence[str],
        unit: str,
        buckets: Sequence[float],
        panel: str,
        alert: str,
    ) -> Family:
        if name in self._families:
            raise LocalError(f"metric {name} is defined twice in the table of {self.component}")
        family = Family(
            name,
            kind,
            about,
            tuple(labels),
            unit,
            tuple(buckets),
            self._origin,
            panel,
            alert,
        )
        self._families[name] = family
        return family
