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

This table says which features work between unmodified clients and the broker. Each feature is a
scenario of `make interop`, which counts messages: none is lost, none is delivered twice where that
is promised, and they arrive in order where that is promised. The same scenarios run with Java's
broker {NEWEST} (`INTEROP_BROKER=java`), whose behaviour is the reference.
"""
ABOUT_OWN: Final = """\
## Our own client and Java's brokers

`gantrymq.client` behaves the same with all of these brokers. The tests check what is stored, and
what is delivered, how often and in which order. In groups that it shares with Java's clients
(`AllocateMessageQueueAveragely`, `AveragelyByCircle`, `ConsistentHash`, orderly) every queue
belongs to exactly one member while members of both kinds join, leave and are killed. Each kind
continues where the other one stopped, replies to its requests, and pops with it in one group.
"""
DIFFERENCES: Final = f"""
-: brokers of 4.9 do not have the feature.

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
    lines += ["", "-: the client does not support it; no: the broker does not support it yet.", ""]
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
