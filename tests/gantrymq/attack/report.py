"""Records the outcome of attacks, as a table on the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, final

HEADINGS: Final = ("attack", "outcome", "memory", "probes", "slowest answer", "clients")
WIDTHS: Final = (58, 52, 12, 9, 8, 0)


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One attack: the attempt, its outcome, and the counts of the legitimate clients meanwhile."""

    subject: str
    what: str
    outcome: str
    faults: tuple[str, ...]
    rss_before_mib: int
    rss_growth_mib: int
    probes: str
    sent: int
    errors: int
    busy: int
    lost: int
    slowest_send_ms: int
    slowest_answer_ms: int
    seconds: float
    state: str = ""
    """The commit of the servers, if it differs from that of the file."""

    @property
    def verdict(self) -> str:
        """The outcome of the attack, in one cell."""
        if self.faults:
            faults = dict.fromkeys(map(_short, self.faults))
            return "**succeeds**: " + "; ".join(faults)
        return self.outcome or "held"

    @property
    def clients(self) -> str:
        """The counts of the legitimate clients, in one cell."""
        told = f"{self.sent} sent, {self.errors} errors"
        told += f", {self.busy} told to come again" if self.busy else ""
        return told + (f", {self.lost} lost" if self.lost else "")

    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.subject}: {self.what}",
            self.verdict,
            f"{self.rss_before_mib} +{self.rss_growth_mib} MiB",
            self.probes,
            f"{self.slowest_answer_ms} ms",
            self.clients,
        )


def terminal_lines(rows: Sequence[Row]) -> list[str]:
    """The table as text."""
    lines = [_line(HEADINGS)]
    lines += [_line(row.cells()) for row in rows]
    succeeded = sum(1 for row in rows if row.faults)
    return [*lines, f"{len(rows)} attacks, {succeeded} succeeded"]


def _line(cells: Sequence[str]) -> str:
    return " ".join(
        cell[: width or None].ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)
    )


def save(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows, and keep the rows of earlier runs that are not replaced."""
    kept = {row.what: row for row in load(path)} if path.exists() else {}
    kept |= {row.what: row for row in rows}
    path.write_text(json.dumps([asdict(row) for row in kept.values()], indent=1) + "\n")


def load(path: Path) -> list[Row]:
    """The rows of a file."""
    return [
        Row(**{**each, "faults": tuple(each["faults"])}) for each in json.loads(path.read_text())
    ]


def _short(text: str) -> str:
    text = text.removeprefix("AssertionError: ")
    return text if len(text) <= 160 else text[:157] + "..."
