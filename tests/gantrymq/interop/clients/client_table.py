"""Writes the page of clients and features from the declarations that the plays check.

PYTHONPATH=tests .venv/bin/python -m gantrymq.interop.clients.client_table
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.client_kinds import KINDS, ClientKind
from gantrymq.interop.clients.plays import known_failure
from gantrymq.interop.clients.scenarios.catalogue import SCENARIOS
from gantrymq.interop.clients.scenarios.scenario import Scenario
from gantrymq.interop.own.own_rows import OWN_ROWS
from gantrymq.interop.releases import NEWEST, OLDEST

PAGE: Final = Path(__file__).resolve().parents[4] / "docs" / "reference" / "clients.md"
ABOUT: Final = f"""\
# Clients and features
<!-- Made by tests/gantrymq/interop/clients/client_table.py; edit the scenarios instead. -->

What unmodified clients do with the broker, each feature a scenario of `make interop` with counted
messages: none lost, none twice where that is promised, in order where that is. The same scenarios
are played with Java's broker {NEWEST} (`INTEROP_BROKER=java`), which decides what is right.
"""
ABOUT_OWN: Final = """\
## Our own client and Java's brokers

`gantrymq.client` does the same with all of them; the tests say what is stored, what comes, how
often and in which order. In groups with Java's clients (`AllocateMessageQueueAveragely`,
`AveragelyByCircle`, `ConsistentHash`, orderly) queues are shared out without overlap or gap while
members of both kinds join, leave and are killed; each takes up what the other one left, replies to
it, and pops with it from one group.
"""
DIFFERENCES: Final = f"""
-: brokers of 4.9 have it not.

Where the brokers differ, as these tests see it:

| | Gantry | Java {NEWEST} | Java {OLDEST} |
|---|---|---|---|
| a message is in its queue | when it is acknowledged | a little later | a little later |
| the offset of a moment | the first message then or later | the same | the message next to it |
| a connection without TLS, `tls.server.mode=enforcing` | closed | closed, and its first request \
carried out | the same |
| accounts | `plain_acl.yml` | users of RocketMQ 5, signed in the same way | `plain_acl.yml` |
"""
BROKERS: Final = {
    BrokerKind.GANTRY: "Gantry",
    BrokerKind.JAVA: f"Java {NEWEST}",
    BrokerKind.JAVA_4: f"Java {OLDEST}",
}
BAR: Final = "\\|"


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
    lines += ["", f"What does not work with Java's broker {NEWEST}:", ""]
    lines += [f"- {failure}" for failure in _failures_of_java()]
    return "\n".join(lines) + f"\n\n{ABOUT_OWN}\n" + "\n".join(_own_table()) + "\n" + DIFFERENCES


def _own_table() -> Iterator[str]:
    """The results of Gantry's own client with each broker."""
    yield f"| feature | {' | '.join(BROKERS.values())} |"
    yield "|---" * (1 + len(BROKERS)) + "|"
    for row in OWN_ROWS:
        cells = ("yes" if row.why_not(kind) is None else "-" for kind in BROKERS)
        yield f"| {row.feature.replace('|', BAR)} | {' | '.join(cells)} |"


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
