"""Reads and changes the text of PromQL expressions: their placeholders, metrics and durations.

Expressions of dashboards and alerts are written with placeholders in angle brackets:

    <broker>    selects by the dashboard's namespace, cluster and broker name
    <process>   selects by the dashboard's namespace, job and instance
    <window>    the range of a rate
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

PLACEHOLDERS: Final[Mapping[str, str]] = {
    "<broker>": 'namespace=~"$namespace",cluster=~"$cluster",node_id=~"$broker"',
    "<process>": 'namespace=~"$namespace",job=~"$job",instance=~"$instance"',
    "<window>": "$__rate_interval",
}

_METRIC: Final = re.compile(r"\b((?:gantry|rocketmq|process|python)_[a-z0-9_]+|up|ALERTS)\b")
_SELECTOR: Final = re.compile(r"\{[^}]*\}")
_LABEL_LIST: Final = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_DURATION: Final = re.compile(r"(?<=\[)(\d+)([smhd])(?=[\]:])|(?<=offset )(\d+)([smhd])")
_UNIT_SECONDS: Final = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
_SUFFIXES: Final = ("_bucket", "_sum", "_count")


def filled(expression: str) -> str:
    """The expression as a dashboard has it."""
    for name, text in PLACEHOLDERS.items():
        expression = expression.replace(name, text)
    return expression


def metric_names(expression: str) -> set[str]:
    """Names of series in an expression, without labels and names of functions."""
    bare = _LABEL_LIST.sub("", _SELECTOR.sub("", expression))
    return set(_METRIC.findall(bare))


def family_name(series: str, histograms: set[str]) -> str:
    """The name of the metric to which a series belongs; a histogram has three series."""
    for suffix in _SUFFIXES:
        if series.endswith(suffix) and series.removesuffix(suffix) in histograms:
            return series.removesuffix(suffix)
    return series


def scaled(expression: str, divisor: int) -> str:
    """The expression with every range and offset divided, so that tests need not wait for long."""

    def shorter(found: re.Match[str]) -> str:
        number, unit = found.group(1) or found.group(3), found.group(2) or found.group(4)
        return duration(max(1, int(number) * _UNIT_SECONDS[unit] // divisor))

    return _DURATION.sub(shorter, expression)


def duration(seconds: int) -> str:
    """A duration in Prometheus' form, with the largest unit that fits: 90s, 5m, 7d."""
    for unit, length in _UNIT_SECONDS.items():
        if seconds >= length and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return "0s"


def of_masters(vector: str) -> str:
    """The vector without series of slaves, whose lags are out of date: slaves copy offsets only now
    and then. Series of Java brokers stay, because these have no metric of their role."""
    return f"({vector} unless on (instance) gantry_broker_is_master == 0)"


def of_any_broker(vector: str, labels: str) -> str:
    """The largest value that any one broker has, for counts of clients that connect to every
    broker: a sum would count each client several times."""
    return f"max by ({labels}) (sum by ({labels}, instance) ({vector}))"


def grown(series: str, window: str, by: str) -> str:
    """The growth of a counter within a window. A series that began within the window counts with
    its whole value, because Prometheus' increase() ignores the first value of a series."""
    increase = f"sum by ({by}) (increase({series}[{window}]))"
    fresh = f"sum by ({by}) ({series} unless {series} offset {window})"
    return f"({increase} > 0 or {fresh} > 0)"
