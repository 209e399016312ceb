"""Samples: the values of one metric at one moment, as a component hands them to the text writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

from gantrymq.metrics.family import Family
from gantrymq.metrics.histogram import Histogram

Labels: TypeAlias = tuple[str, ...]
"""Values of the family's labels, in their order."""

Value: TypeAlias = float | Histogram
Row: TypeAlias = tuple[Labels, Value]


@final
@dataclass(frozen=True, slots=True)
class Samples:
    """One metric's series. `rows` may be lazy: the writer takes some at a time.

    What a lazy `rows` iterates over may change between two of them; `stable` copies keys first.
    """

    family: Family
    rows: Iterable[Row]
    base: str = ""
    """Labels that each series has, as text: see `base_text`."""


Source: TypeAlias = Callable[[], Iterable[Samples]]
"""Reads a component's state when a page is made. It may be a generator: then each metric is read
when the page comes to it."""


def one(family: Family, value: float | bool, base: str = "") -> Samples:
    """The samples of a metric that has no labels."""
    return Samples(family, (((), value),), base)


def base_text(labels: Mapping[str, str]) -> str:
    """Labels as the text format writes them, for `Samples.base`."""
    return ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items())


def escaped(value: str) -> str:
    """A label's value with the three characters escaped that the text format reserves."""
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return value
