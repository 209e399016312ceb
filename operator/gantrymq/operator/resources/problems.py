"""Defines the result of parsing a resource: the spec, or its problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar, final

S = TypeVar("S")

SHOWN_MAX: Final = 5
"""The most problems in one message, so that a condition stays readable."""


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """A field with an invalid value, and what is allowed."""

    field: str
    """The path as in `kubectl explain`, such as `spec.storage.size`."""
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


@final
@dataclass(frozen=True, slots=True)
class Parsed(Generic[S]):
    """A spec whose defaults are filled, or the problems that make it unusable."""

    spec: S | None
    """None if there is a problem."""
    problems: tuple[Problem, ...] = ()

    @property
    def message(self) -> str:
        """The problems in a few sentences, for a condition."""
        shown = [str(each) for each in self.problems[:SHOWN_MAX]]
        hidden = len(self.problems) - len(shown)
        if hidden:
            shown.append(f"and {hidden} more")
        return "; ".join(shown)
