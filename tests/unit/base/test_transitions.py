"""Tables of state machines: lookups, errors, and what the documentation reads from them."""

from __future__ import annotations

from enum import Enum

import pytest

from gantrymq.base.errors import LocalError
from gantrymq.base.transitions import Transition, TransitionError, Transitions, state_label


class Door(Enum):
    """The states of an example."""

    CLOSED = 1
    WIDE_OPEN = 2
    REMOVED = 3


DOOR = Transitions(
    "door",
    Door.CLOSED,
    [
        Transition(Door.CLOSED, "push", Door.WIDE_OPEN, "the bell rings"),
        Transition(Door.WIDE_OPEN, "pull", Door.CLOSED),
        Transition(Door.WIDE_OPEN, "unscrew", Door.REMOVED),
        Transition(Door.CLOSED, "unscrew", Door.REMOVED),
    ],
)


def test_event_leads_to_the_target_of_its_row() -> None:
    assert DOOR.next(Door.CLOSED, "push") is Door.WIDE_OPEN
    assert DOOR.next(Door.WIDE_OPEN, "unscrew") is Door.REMOVED


def test_event_without_a_row_is_an_error_that_names_machine_state_and_event() -> None:
    with pytest.raises(TransitionError, match=r"'door'.*'wide open'.*'push'"):
        DOOR.next(Door.WIDE_OPEN, "push")
    assert not DOOR.allows(Door.WIDE_OPEN, "push")
    assert DOOR.allows(Door.CLOSED, "push")


def test_states_and_events_are_listed_once_in_order() -> None:
    assert DOOR.states == (Door.CLOSED, Door.WIDE_OPEN, Door.REMOVED)
    assert DOOR.events == ("push", "pull", "unscrew")
    assert (DOOR.name, DOOR.initial, len(DOOR.rows)) == ("door", Door.CLOSED, 4)
    assert DOOR.rows[0].effect == "the bell rings"


def test_two_rows_for_one_state_and_event_are_refused() -> None:
    rows = [Transition("a", "go", "b"), Transition("a", "go", "c")]
    with pytest.raises(LocalError, match=r"'letters'.*two rows.*'go'.*'a'"):
        Transitions("letters", "a", rows)


def test_table_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        DOOR.name = "window"  # type: ignore[misc]
    assert isinstance(DOOR.rows, tuple)


def test_states_may_be_strings() -> None:
    letters = Transitions("letters", "a", [Transition("a", "go", "b")])
    assert letters.next("a", "go") == "b"


@pytest.mark.parametrize(
    ("state", "label"), [(Door.WIDE_OPEN, "wide open"), ("half open", "half open")]
)
def test_label_of_a_state_is_its_name_in_words(state: object, label: str) -> None:
    assert state_label(state) == label
