"""Validates settings by type and range when a settings object is created.

    must_fit(self, {"consume_threads": within(1, 1000), "heartbeat_s": ABOVE_0})

Invariant: code that uses the settings need not check them again. A flag is a bool, and a number is
finite and within its bounds, so no loop runs without a pause and no wait is infinite.
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
    """The range of a number, and the text that describes it in an error."""

    low: float
    high: float
    about: str
    is_open: bool = False
    """Whether `low` itself is excluded."""

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
    """Check every field against its annotation and bounds; raises ConfigurationError. Fields that
    are not flags, numbers or texts are not checked here."""
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
