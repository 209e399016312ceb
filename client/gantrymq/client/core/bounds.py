"""What a setting may be: a value that is none of that is refused when the settings are made.

    must_fit(self, {"consume_threads": within(1, 1000), "heartbeat_s": ABOVE_0})

Invariant: whoever has settings need not ask again: a flag is a flag, a number is finite and within
its bounds, so that no loop runs without a pause and none waits for ever.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from gantrymq.base.errors import ConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a number."""

    low: float
    high: float
    about: str
    is_open: bool = False
    """Whether it is more than `low`."""

    def has(self, number: float) -> bool:
        return self.low <= number <= self.high and not (self.is_open and number == self.low)


def within(low: int, high: int) -> Bounds:
    return Bounds(low, high, f" from {low} to {high}")


def at_least(low: int) -> Bounds:
    return Bounds(low, math.inf, f" from {low} on")


ABOVE_0: Final = Bounds(0, math.inf, " above 0", is_open=True)
FROM_0: Final = at_least(0)
_ANY: Final = Bounds(-math.inf, math.inf, "")

_KINDS: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "True or False"),
    "str": ((str,), "a text"),
}


def must_fit(settings: DataclassInstance, bounds: Mapping[str, Bounds]) -> None:
    """Raises ConfigurationError for a field that is not what its annotation says, or beyond its
    bounds. Fields of other types than flags, numbers and texts are left to others."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        annotation = str(getattr(field.type, "__name__", field.type))
        kind = _KINDS.get(annotation.removesuffix(" | None"))
        if kind is None or (value is None and annotation.endswith(" | None")):
            continue
        types, about = kind
        allowed = bounds.get(field.name, _ANY)
        is_good = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if is_good and int in types:
            is_good = math.isfinite(value) and allowed.has(value)
        if not is_good:
            raise refused(settings, field.name, f"{about}{allowed.about}")


def refused(settings: DataclassInstance, name: str, allowed: str) -> ConfigurationError:
    return ConfigurationError(f"{name}={getattr(settings, name)!r} must be {allowed}")
