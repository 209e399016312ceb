"""Diagrams and tables that are written from the tables of state machines."""

from __future__ import annotations

import pytest

from gantrymq.base.transitions import Transition, Transitions
from tools import state_diagrams

ROWS = [
    Transition("half open", "push", "open"),
    Transition("open", "unscrew", "removed", "the bell rings"),
]
DOOR = Transitions("front door", "half open", ROWS)
PAGE = (
    "before\n<!-- states front-door: made by `make docs` -->\nold\n"
    "<!-- end of states front-door -->\nafter\n"
)


def test_diagram_names_each_state_and_marks_initial_and_final_states() -> None:
    assert list(state_diagrams.diagram(DOOR)) == [
        "stateDiagram-v2",
        '    state "half open" as half_open',
        '    state "open" as open',
        '    state "removed" as removed',
        "    [*] --> half_open",
        "    half_open --> open: push",
        "    open --> removed: unscrew",
        "    removed --> [*]",
    ]


def test_table_has_effects_only_where_a_row_has_one() -> None:
    assert list(state_diagrams.table(DOOR))[-1] == "| open | unscrew | removed | the bell rings |"
    plain = Transitions("door", "half open", ROWS[:1])
    assert list(state_diagrams.table(plain)) == [
        "| state | event | next state |",
        "|---|---|---|",
        "| half open | push | open |",
    ]


def test_what_stands_between_the_marks_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_diagrams, "MACHINES", (("page.md", DOOR),))
    text = state_diagrams.filled(PAGE)
    assert text.startswith(
        "before\n<!-- states front-door: made by `make docs` -->\n\n```mermaid\n"
    )
    assert text.endswith(" |\n\n<!-- end of states front-door -->\nafter\n")
    assert "old" not in text
    assert state_diagrams.filled(text) == text
    assert state_diagrams.names_in(text) == ["front-door"]
