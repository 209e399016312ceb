"""Describes metrics: Family is one metric, Table is all metrics of one component."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypedDict, Unpack, final

from gantrymq.base.errors import LocalError


class Kind(Enum):
    """The type of a metric; Prometheus' text format has more types that are not used here."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Origin(Enum):
    """The project that defined the name of a metric."""

    GANTRY = "Gantry"
    ROCKETMQ_5 = "RocketMQ 5.x"
    EXPORTER_4 = "rocketmq-exporter (4.x)"


@final
@dataclass(frozen=True, slots=True)
class Family:
    """The definition of one metric.

    `panel` names the dashboard panel that shows the metric, as "row: title", and `alert` names the
    alert rule that uses it. Both are "" if there is none.
    """

    name: str
    """The name as pages show it: with the unit, and `_total` for counters."""
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()
    """The upper bounds of a histogram in ascending order, without +Inf."""
    origin: Origin = Origin.GANTRY
    panel: str = ""
    alert: str = ""


class _More(TypedDict, total=False):
    """The fields of a Family that most metrics leave empty."""

    unit: str
    panel: str
    alert: str


@final
class Table:
    """The metrics of one component, in the order of its page.

    Every sample of the component has the labels `base_labels`. The page is served at `path`.
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
        self, name: str, about: str, labels: Sequence[str] = (), **more: Unpack[_More]
    ) -> Family:
        """Enter a metric that only grows while the process lives."""
        return self._enter(Kind.COUNTER, name, about, labels, (), more)

    def gauge(
        self, name: str, about: str, labels: Sequence[str] = (), **more: Unpack[_More]
    ) -> Family:
        """Enter a metric that shows a value of the moment."""
        return self._enter(Kind.GAUGE, name, about, labels, (), more)

    def histogram(
        self,
        name: str,
        about: str,
        labels: Sequence[str] = (),
        *,
        buckets: Sequence[float],
        **more: Unpack[_More],
    ) -> Family:
        """Enter a metric that counts values by size."""
        return self._enter(Kind.HISTOGRAM, name, about, labels, buckets, more)

    def _enter(
        self,
        kind: Kind,
        name: str,
        about: str,
        labels: Sequence[str],
        buckets: Sequence[float],
        more: _More,
    ) -> Family:
        if name in self._families:
            raise LocalError(f"metric {name} is defined twice in the table of {self.component}")
        family = Family(
            name,
            kind,
            about,
            tuple(labels),
            buckets=tuple(buckets),
            origin=self._origin,
            **more,
        )
        self._families[name] = family
        return family
