"""Describes a state machine by the table of its transitions.

A table is the one place that lists what a machine may do. The generated diagrams in docs/ show it,
and the machine's unit test drives the real code through every row. Code that runs once in a while
(a change of role, a connection) may also ask the table for its next state. Code that runs for each
message does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar, final

from gantrymq.base.errors import LocalError

S = TypeVar("S", bound=Hashable)


class Transition(NamedTuple, Generic[S]):
    """One row: in this source state, this event leads to this target state."""

    source: S
    event: str
    target: S
    effect: str = ""  # what the code does besides; shown in the documentation


class TransitionError(LocalError):
    """A machine got an event that its table does not allow in its present state."""


@final
class Transitions(Generic[S]):
    """The immutable table of one state machine; a constant of the module that declares it.

    A state is a member of an enumeration or a string.
    """

    __slots__ = ("_initial", "_name", "_rows", "_targets")

    def __init__(self, name: str, initial: S, rows: Iterable[Transition[S]]) -> None:
        self._name: Final[str] = name
        self._initial: Final[S] = initial
        self._rows: Final[tuple[Transition[S], ...]] = tuple(rows)
        self._targets: Final[dict[tuple[S, str], S]] = {}
        for row in self._rows:
            if (row.source, row.event) in self._targets:
                raise LocalError(
                    f"The table of the state machine {name!r} has two rows for the event"
                    f" {row.event!r} in the state {state_label(row.source)!r}. Keep one of them."
                )
            self._targets[row.source, row.event] = row.target

    @property
    def name(self) -> str:
        """The machine's name, as the documentation shows it."""
        return self._name

    @property
    def initial(self) -> S:
        """The state in which each machine starts."""
        return self._initial

    @property
    def rows(self) -> tuple[Transition[S], ...]:
        """All rows, in the order of the declaration."""
        return self._rows

    @property
    def states(self) -> tuple[S, ...]:
        """All states, each once: the initial one, then the others in the order of the rows."""
        found: dict[S, None] = {self._initial: None}
        for row in self._rows:
            found[row.source] = None
            found[row.target] = None
        return tuple(found)

    @property
    def events(self) -> tuple[str, ...]:
        """All events, each once, in the order of the rows."""
        return tuple(dict.fromkeys([row.event for row in self._rows]))

    def allows(self, state: S, event: str) -> bool:
        """Whether the table has a row for this event in this state."""
        return (state, event) in self._targets

    def next(self, state: S, event: str) -> S:
        """The state that this event leads to; raises `TransitionError` where no row allows it."""
        target = self._targets.get((state, event))
        if target is None:
            raise TransitionError(
                f"The state machine {self._name!r} is in the state {state_label(state)!r}, in"
                f" which the event {event!r} is not allowed."
            )
        return target


def state_label(state: Hashable) -> str:
    """The name of a state in texts: `Role.FALLING_BACK` is shown as `falling back`."""
    name = getattr(state, "name", None)
    return name.lower().replace("_", " ") if isinstance(name, str) else str(state)
