"""Tests that a lifecycle follows its table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.base.transitions import Transition, TransitionError
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.flow.lifecycle import CLOSE, LIFECYCLE, START, STARTED, Lifecycle, State

EVENTS: dict[str, Callable[[Lifecycle], object]] = {
    START: Lifecycle.begin,
    STARTED: Lifecycle.began,
    CLOSE: Lifecycle.end,
}

PATHS = {
    State.CREATE_JUST: (),
    State.START_FAILED: (START,),
    State.RUNNING: (START, STARTED),
    State.SHUTDOWN_ALREADY: (START, STARTED, CLOSE),
}


def in_state(state: State) -> Lifecycle:
    lifecycle = Lifecycle("consumer")
    for event in PATHS[state]:
        EVENTS[event](lifecycle)
    assert lifecycle.state is state
    return lifecycle


@pytest.mark.parametrize("row", LIFECYCLE.rows, ids=lambda row: f"{row.source.name} {row.event}")
def test_each_row_leads_to_its_state(row: Transition[State]) -> None:
    lifecycle = in_state(row.source)
    EVENTS[row.event](lifecycle)
    assert lifecycle.state is row.target


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", EVENTS)
def test_other_events_are_refused_and_change_nothing(state: State, event: str) -> None:
    if LIFECYCLE.allows(state, event):
        return
    lifecycle = in_state(state)
    with pytest.raises((StateError, TransitionError)):
        EVENTS[event](lifecycle)
    assert lifecycle.state is state


def test_an_object_that_is_closed_while_it_starts_does_not_run() -> None:
    lifecycle = Lifecycle("producer")
    lifecycle.begin()
    assert lifecycle.end()
    lifecycle.began()
    with pytest.raises(StateError, match="SHUTDOWN_ALREADY"):
        lifecycle.must_run()
