"""Results of parsing a resource: the spec, or what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar, final

S = TypeVar("S")

SHOWN_MAX: Final = 5
"""Problems in one message: a condition should stay readable."""


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one field, and what is allowed."""

    field: str
    """As `kubectl explain` names it: `spec.storage.size`."""
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
        """All problems in a few sentences, for a condition."""
        shown = [str(each) for each in self.problems[:SHOWN_MAX]]
        hidden = len(self.problems) - len(shown)
        if hidden:
            shown.append(f"and {hidden} more")
        return "; ".join(shown)
