"""What a run hands back, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Cycle:
    """One fault, and what it did; seconds, and numbers of sends."""

    number: int
    kind: str
    hold: float
    rate: int
    """Acknowledged in the second before."""
    moved: float | None
    """Until another member held the lease."""
    gap: float
    """The longest time without a SEND_OK."""
    gaps: dict[str, float]
    """The same of each producer, and without a delivery of each consumer."""
    failed: dict[str, int]
    """Exceptions, by producer."""
    other: dict[str, int]
    """Answers with another status than SEND_OK."""
    well: float
    """Until all members were in sync and all clients worked again."""


@final
@dataclass(frozen=True, slots=True)
class Audit:
    """What one group has stored of all acknowledged messages, when its cycles are over."""

    acknowledged: int
    stored: int
    log_bytes: int
    faults: list[str] = field(default_factory=list)


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    cycles: list[Cycle] = field(default_factory=list)
    audits: list[Audit] = field(default_factory=list)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))


def load(path: Path) -> Outcome:
    told = json.loads(path.read_text())
    cycles = [Cycle(**each) for each in told["cycles"]]
    return Outcome(cycles, [Audit(**each) for each in told["audits"]])
