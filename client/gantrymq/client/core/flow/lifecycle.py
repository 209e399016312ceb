"""Tracks the lifecycle of a producer, a consumer and the client they share: Java's four states.

Invariant: an object that stays in START_FAILED did not finish its start; it can only be closed. An
object that was closed never runs again.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, final

from gantrymq.base.transitions import Transition, Transitions
from gantrymq.client.core.errors import StateError


class State(Enum):
    """Java's names, because they are in error texts that users search for."""

    CREATE_JUST = "CREATE_JUST"
    START_FAILED = "START_FAILED"
    RUNNING = "RUNNING"
    SHUTDOWN_ALREADY = "SHUTDOWN_ALREADY"


START: Final = "start"
STARTED: Final = "started"
CLOSE: Final = "close"

LIFECYCLE: Final = Transitions(
    "client lifecycle",
    State.CREATE_JUST,
    [
        Transition(State.CREATE_JUST, START, State.START_FAILED),
        Transition(State.START_FAILED, STARTED, State.RUNNING),
        Transition(State.CREATE_JUST, CLOSE, State.SHUTDOWN_ALREADY, "nothing to close"),
        Transition(State.START_FAILED, CLOSE, State.SHUTDOWN_ALREADY),
        Transition(State.RUNNING, CLOSE, State.SHUTDOWN_ALREADY),
        Transition(State.SHUTDOWN_ALREADY, CLOSE, State.SHUTDOWN_ALREADY, "nothing to close"),
        Transition(State.SHUTDOWN_ALREADY, STARTED, State.SHUTDOWN_ALREADY, "the close wins"),
    ],
)


@final
class Lifecycle:
    """The lifecycle state of one object that is started once and closed once."""

    __slots__ = ("kind", "state")

    def __init__(self, kind: str) -> None:
        """`kind` is the name in error texts, for example "producer"."""
        self.kind = kind
        self.state = LIFECYCLE.initial

    def begin(self) -> None:
        """Begin the start; raises StateError if it was begun before."""
        if not LIFECYCLE.allows(self.state, START):
            raise self.was_begun
        self.state = LIFECYCLE.next(self.state, START)

    @property
    def was_begun(self) -> StateError:
        """Return the error for a second start."""
        return StateError(
            f"The {self.kind} service state not OK, maybe started once, {self.state.value};"
            " make a new one for each start"
        )

    def began(self) -> None:
        """End the start; an object that was closed meanwhile stays closed."""
        self.state = LIFECYCLE.next(self.state, STARTED)

    def end(self) -> bool:
        """Enter SHUTDOWN_ALREADY; return whether there is anything to close."""
        was_open = self.is_open
        self.state = LIFECYCLE.next(self.state, CLOSE)
        return was_open

    @property
    def is_open(self) -> bool:
        """Whether it is running or starting."""
        return self.state in {State.RUNNING, State.START_FAILED}

    def must_run(self) -> None:
        if self.state is not State.RUNNING:
            raise self.refusal

    @property
    def refusal(self) -> StateError:
        """Return the error for an operation that needs the RUNNING state."""
        return StateError(
            f"The {self.kind} service state not OK, {self.state.value}; start it first (or use"
            " it by `async with`), and not after it was closed"
        )
