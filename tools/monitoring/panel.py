"""Describes dashboards: rows of panels, each with its queries. Grafana's format is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, final


class Kind(Enum):
    """The kind of picture with which a panel shows its queries."""

    GRAPH = "timeseries"
    NUMBER = "stat"
    TABLE = "table"


class Colour(Enum):
    """The meaning of a value beyond a threshold."""

    GOOD = "green"
    WARNING = "orange"
    BAD = "red"
    PLAIN = "text"


Steps = tuple[tuple[float | None, Colour], ...]

NO_JUDGEMENT: Final[Steps] = ((None, Colour.PLAIN),)
ZERO_IS_GOOD: Final[Steps] = ((None, Colour.GOOD), (1, Colour.BAD))
ONE_IS_GOOD: Final[Steps] = ((None, Colour.BAD), (1, Colour.GOOD))


@final
@dataclass(frozen=True, slots=True)
class Query:
    """An expression with placeholders (promql.py), and the legend of its series."""

    expression: str
    legend: str = ""


@final
@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a dashboard. `about` says what it shows and what a bad value means."""

    title: str
    about: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: Kind = Kind.GRAPH
    width: int = 8
    steps: Steps = NO_JUDGEMENT
    is_stacked: bool = False


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A row of panels with one subject."""

    title: str
    panels: tuple[Panel, ...]


@final
@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top of a dashboard: the values of a label; all of them unless one is
    chosen."""

    name: str
    title: str
    metric: str
    label: str


@final
@dataclass(frozen=True, slots=True)
class Dashboard:
    """One page of Grafana, named for its file."""

    name: str
    title: str
    about: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]


NAMESPACE: Final = Variable("namespace", "Namespace", "gantry_event_loop_lag_seconds", "namespace")
JOB: Final = Variable("job", "Job", "gantry_event_loop_lag_seconds", "job")
INSTANCE: Final = Variable(
    "instance", "Process", 'gantry_event_loop_lag_seconds{job=~"$job"}', "instance"
)
CLUSTER: Final = Variable("cluster", "Cluster", "rocketmq_topic_number", "cluster")
BROKER: Final = Variable(
    "broker", "Broker name", 'rocketmq_topic_number{cluster=~"$cluster"}', "node_id"
)


def graph(
    title: str,
    about: str,
    *queries: tuple[str, str],
    unit: str = "short",
    width: int = 8,
    is_stacked: bool = False,
) -> Panel:
    """A panel of lines over time; each query is an expression and its legend."""
    return Panel(
        title,
        about,
        tuple(Query(*each) for each in queries),
        unit,
        Kind.GRAPH,
        width,
        is_stacked=is_stacked,
    )


def number(
    title: str,
    about: str,
    expression: str,
    *,
    unit: str = "short",
    steps: Steps = NO_JUDGEMENT,
    width: int = 4,
) -> Panel:
    """The current value as one number, coloured by its meaning."""
    return Panel(title, about, (Query(expression),), unit, Kind.NUMBER, width, steps)


def limits(warning: float, bad: float) -> Steps:
    """Thresholds: a value is good below the first number and bad from the second one on."""
    return (None, Colour.GOOD), (warning, Colour.WARNING), (bad, Colour.BAD)
