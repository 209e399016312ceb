"""Provides Samples: the values of one metric, as a component hands them to the writer of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

from gantrymq.metrics.family import Family
from gantrymq.metrics.histogram import Histogram

Labels: TypeAlias = tuple[str, ...]
"""The values of a family's labels, in the order of the labels."""

Value: TypeAlias = float | Histogram
Row: TypeAlias = tuple[Labels, Value]


@final
@dataclass(frozen=True, slots=True)
class Samples:
    """The series of one metric.

    `rows` may be lazy. The writer pauses between rows, so what a lazy `rows` iterates over must be
    allowed to change meanwhile.
    """

    family: Family
    rows: Iterable[Row]
    base: str = ""
    """The labels that every series has, as `base_text` writes them."""


Source: TypeAlias = Callable[[], Iterable[Samples]]
"""A function that reads a component's state while a page is made. A generator reads each metric
when the writer of the page gets to it."""


def one(family: Family, value: float | bool, base: str = "") -> Samples:
    """The samples of a metric that has no labels."""
    return Samples(family, (((), value),), base)


def base_text(labels: Mapping[str, str]) -> str:
    """The labels in the text format, for `Samples.base`."""
    return ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items())


def escaped(value: str) -> str:
    """The value of a label, with the three reserved characters of the text format escaped."""
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return value
