"""The page of clients and features: what the declarations say, and the plays insist on.

PYTHONPATH=tests .venv/bin/python -m gantrymq.interop.client_table
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.client_kinds import KINDS, ClientKind
from gantrymq.interop.plays import known_failure
from gantrymq.interop.scenario import Scenario
from gantrymq.interop.scenarios import SCENARIOS

PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "reference" / "clients.md"
ABOUT: Final = """\
# Clients and features
<!-- Made by tests/gantrymq/interop/client_table.py; edit the scenarios instead. -->

What unmodified clients do with the broker, each feature a scenario of `make interop` with counted
messages: none lost, none twice where that is promised, in order where that is. The same scenarios
are played with Java's broker 5.3.3 (`INTEROP_BROKER=java`), which decides what is right.
"""


def page() -> str:
    """The whole page."""
    lines = [ABOUT, f"| feature | {' | '.join(kind.name for kind in KINDS)} |"]
    lines.append("|---" * (1 + len(KINDS)) + "|")
    notes: list[str] = []
    for scenario in SCENARIOS:
        cells = [_cell(kind, scenario, notes) for kind in KINDS]
        lines.append(f"| {scenario.feature} | {' | '.join(cells)} |")
    lines += ["", "-: not to be had, because of the client; no: not there yet.", ""]
    lines += [f"{number}. {note}" for number, note in enumerate(notes, 1)]
    lines += ["", "What does not work with Java's broker 5.3.3:", ""]
    lines += [f"- {failure}" for failure in _failures_of_java()]
    return "\n".join(lines) + "\n"


def _cell(kind: ClientKind, scenario: Scenario, notes: list[str]) -> str:
    lacking = sorted(scenario.needs & kind.lacks.keys())
    if lacking:
        return f"- {_note(kind.lacks[lacking[0]], notes)}"
    if defect := kind.broken.get(scenario.feature):
        return f"- {_note(defect, notes)}"
    failure = known_failure(BrokerKind.GANTRY, kind, scenario)
    return "yes" if failure is None else f"no {_note(failure, notes)}"


def _note(text: str, notes: list[str]) -> str:
    if text not in notes:
        notes.append(text)
    return f"({notes.index(text) + 1})"


def _failures_of_java() -> Iterator[str]:
    for kind in KINDS:
        for scenario in SCENARIOS:
            if failure := kind.java_fails.get(scenario.feature):
                yield f"{scenario.feature}, {kind.name}: {failure}"


if __name__ == "__main__":
    PAGE.write_text(page())
