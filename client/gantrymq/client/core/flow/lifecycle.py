"""Tracks the lifecycle of a producer, a consumer and the client they share: Java's four states.

    CREATE_JUST -> START_FAILED (while it starts) -> RUNNING -> SHUTDOWN_ALREADY

Invariant: an object that stays in START_FAILED did not finish its start; it can only be closed.
"""

from __future__ import annotations

from enum import Enum
from typing import final

from gantrymq.client.core.errors import StateError


class State(Enum):
    """Java's names, because they are in error texts that users search for."""

    CREATE_JUST = "CREATE_JUST"
    START_FAILED = "START_FAILED"
    RUNNING = "RUNNING"
    SHUTDOWN_ALREADY = "SHUTDOWN_ALREADY"


@final
class Lifecycle:
    """The lifecycle state of one object that is started once and closed once."""

    __slots__ = ("kind", "state")

    def __init__(self, kind: str) -> None:
        """`kind` is the name in error texts, for example "producer"."""
        self.kind = kind
        self.state = State.CREATE_JUST

    def begin(self) -> None:
        if self.state is not State.CREATE_JUST:
            raise self.was_begun
        self.state = State.START_FAILED

    @property
    def was_begun(self) -> StateError:
        """Return the error for a second start."""
        return StateError(
            f"The {self.kind} service state not OK, maybe started once, {self.state.value};"
            " make a new one for each start"
        )

    def began(self) -> None:
        self.state = State.RUNNING

    def end(self) -> bool:
        """Enter SHUTDOWN_ALREADY; return whether there is anything to close."""
        was = self.state
        self.state = State.SHUTDOWN_ALREADY
        return was in {State.RUNNING, State.START_FAILED}

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
