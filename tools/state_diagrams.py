"""Writes the state machines' diagrams and tables into pages of docs/; a part of `make docs`.

A page is written by hand, but for what stands between two marks:

    <!-- states NAME: made by `make docs` -->
    a Mermaid diagram and a table
    <!-- end of states NAME -->

NAME is the machine's name with hyphens for spaces. To show another machine, add its table to
`MACHINES` and the marks to its page, and run `make docs`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, Final

from gantrymq.base.transitions import Transitions, state_label
from gantrymq.broker.core.pop.states import IN_FLIGHT_MESSAGE
from gantrymq.broker.core.pull.states import HELD_PULL
from gantrymq.broker.core.schedule.timer_states import TIMER_MESSAGE
from gantrymq.broker.core.transaction.states import TRANSACTION
from gantrymq.client.core.flow.lifecycle import LIFECYCLE
from gantrymq.client.core.group.queue_phase import QUEUE_PHASES
from gantrymq.ha.election.follower_state import FOLLOWER_STATES
from gantrymq.ha.election.lease_view import LEASE_VIEWS
from gantrymq.ha.election.phase import PHASES as ROLE_PHASES
from gantrymq.ha.member.links.link_phase import LINK_PHASES
from gantrymq.runtime.net.connection_states import CHANNEL_STATES, DIAL_STATES

DOCS: Final = Path(__file__).resolve().parent.parent / "docs"

# The page, relative to docs/, and the machines that it shows. Any: each has its own type of state.
MACHINES: Final[tuple[tuple[str, Transitions[Any]], ...]] = (
    ("reference/python-client.md", LIFECYCLE),
    ("reference/python-client.md", QUEUE_PHASES),
    ("reference/python-client.md", DIAL_STATES),
    ("reference/python-client.md", CHANNEL_STATES),
    ("concepts/state-machines.md", HELD_PULL),
    ("concepts/state-machines.md", IN_FLIGHT_MESSAGE),
    ("concepts/state-machines.md", TRANSACTION),
    ("concepts/state-machines.md", TIMER_MESSAGE),
    ("design/replication.md", ROLE_PHASES),
    ("design/replication.md", LEASE_VIEWS),
    ("design/replication.md", FOLLOWER_STATES),
    ("design/replication.md", LINK_PHASES),
)

PAGES: Final = tuple(sorted({page for page, _ in MACHINES}))

_BLOCK: Final = re.compile(
    r"(<!-- states (?P<name>[\w-]+): made by `make docs` -->\n).*?"
    r"(<!-- end of states (?P=name) -->\n)",
    re.DOTALL,
)


def mark_name(machine: Transitions[Any]) -> str:
    """The machine's name in the marks of a page."""
    return machine.name.replace(" ", "-")


def names_in(text: str) -> list[str]:
    """The machines whose marks stand on a page."""
    return [found["name"] for found in _BLOCK.finditer(text)]


def filled(text: str) -> str:
    """The page with the current diagrams and tables; KeyError where a mark names no machine."""
    by_name = {mark_name(machine): machine for _, machine in MACHINES}
    return _BLOCK.sub(lambda found: found[1] + block(by_name[found["name"]]) + found[3], text)


def block(machine: Transitions[Any]) -> str:
    """The diagram and the table of a machine."""
    return "\n".join(
        ["", "```mermaid", *diagram(machine), "```", "", *table(machine), "", ""],
    )


def diagram(machine: Transitions[Any]) -> Iterator[str]:
    """The lines of a Mermaid `stateDiagram-v2`."""
    yield "stateDiagram-v2"
    for state in machine.states:
        yield f'    state "{state_label(state)}" as {_identifier(state)}'
    yield f"    [*] --> {_identifier(machine.initial)}"
    for row in machine.rows:
        yield f"    {_identifier(row.source)} --> {_identifier(row.target)}: {row.event}"
    sources = {row.source for row in machine.rows}
    for state in machine.states:
        if state not in sources:
            yield f"    {_identifier(state)} --> [*]"


def table(machine: Transitions[Any]) -> Iterator[str]:
    """The lines of a table in Markdown: one row a transition."""
    has_effects = any(row.effect for row in machine.rows)
    yield "| state | event | next state |" + (" effect |" if has_effects else "")
    yield "|---|---|---|" + ("---|" if has_effects else "")
    for row in machine.rows:
        cells = [state_label(row.source), row.event, state_label(row.target)]
        yield "| " + " | ".join([*cells, row.effect] if has_effects else cells) + " |"


def _identifier(state: Hashable) -> str:
    return re.sub(r"\W+", "_", state_label(state))


def write() -> None:
    """Fill the pages of all machines."""
    for page in PAGES:
        path = DOCS / page
        path.write_text(filled(path.read_text()))
        print(f"filled docs/{page}")
