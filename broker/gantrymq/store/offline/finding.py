"""Defines the findings of an offline check as values: `gantry store check` prints them.

The severity says whether an operator must act:

    ERROR     messages are damaged, missing or cannot be reached, or the store will not open
    WARNING   the next start repairs it, or it does no harm yet; worth knowing
    NOTE      a fact, not a fault: a store with notes only is sound

Invariant of the collection: it takes little memory, however damaged a store is. It keeps the first
few findings of each kind, and counts all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final, final

# Enough to see what the findings have in common; more would add nothing.
KEPT_OF_A_KIND: Final = 20


class Severity(IntEnum):
    """How bad a finding is; a higher number is worse."""

    NOTE = 0
    WARNING = 1
    ERROR = 2


class Kind(Enum):
    """What was found, and what to do about it."""

    ABORT = ("abort file", "nothing: the next start recovers the store")
    LOCK = (
        "lock",
        "stop the broker and check again: its writes during the check may cause findings",
    )
    SIZES = ("sizes", "give them: -c broker.conf, or --set KEY=VALUE")
    FOREIGN = ("foreign file", "move it out of the store, or: gantry store repair")
    LENGTH = ("file length", "restore the file, or: gantry store repair")
    LOG_MISSING = (
        "missing log",
        "mount its disk, or restore the log; to start an empty log: repair --keep older",
    )
    FILE_MISSING = ("missing file", "restore the file, or give up a side of the gap: repair --keep")
    LOG_DAMAGE = (
        "damaged log",
        "restore the file, because recovery may drop all later records; or: repair --keep",
    )
    LOG_TORN = ("torn record", "nothing: the next start truncates it; or: gantry store repair")
    LOG_LEFTOVER = ("leftover bytes", "nothing: they will be overwritten")
    LOG_LOST = ("lost records", "restore the log from a replica or a backup")
    LOG_TIME = ("store time", "nothing; searches by time may be inexact here")
    QUEUE_GAP = ("queue offsets missing", "restore the log from a replica or a backup")
    QUEUE_ANEW = ("queue begun anew", "nothing: its topic was deleted and created again")
    QUEUE_DELETED = ("queue of a deleted topic", "nothing: the next start removes it")
    QUEUE_TWICE = ("queue offset twice", "nothing can be done: the second message stays invisible")
    QUEUE_FILES = ("queue files", "gantry store repair --rebuild queues")
    UNIT_PENDING = ("units to come", "nothing: the next start adds them")
    UNIT_MISSING = ("missing units", "gantry store repair --rebuild queues")
    UNIT_WRONG = ("wrong units", "gantry store repair --rebuild queues")
    UNIT_TAGS = ("wrong tags code", "gantry store repair --rebuild queues")
    UNIT_DELAY = (
        "delivery time",
        "give messageDelayLevel by -c broker.conf; else repair --rebuild queues",
    )
    UNIT_AHEAD = (
        "units ahead of the log",
        "restore the lost part of the log; after a crash: nothing, the next start removes them",
    )
    INDEX_FILE = ("index file", "gantry store repair --rebuild index")
    INDEX_CHAIN = ("index chain", "gantry store repair --rebuild index")
    INDEX_WRONG = ("wrong index entry", "gantry store repair --rebuild index")
    INDEX_MISSING = ("keys not indexed", "gantry store repair --rebuild index")
    INDEX_PENDING = ("keys to come", "nothing: the next start adds them")
    CHECKPOINT = ("checkpoint", "nothing; without it recovery reads the whole log")
    MARKS = ("marks", "nothing: they are void, and recovery reads more of the log")

    def __init__(self, title: str, todo: str) -> None:
        self.title = title
        self.todo = todo


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `place` is a path, or topic/queue; `position` is a log position."""

    severity: Severity
    kind: Kind
    place: str
    text: str
    position: int | None = None


@final
class Findings:
    """The findings of one check."""

    __slots__ = ("_counts", "_kept")

    def __init__(self) -> None:
        self._counts: Counter[tuple[Severity, Kind]] = Counter()
        self._kept: list[Finding] = []

    def add(self, finding: Finding) -> None:
        key = (finding.severity, finding.kind)
        self._counts[key] += 1
        if self._counts[key] <= KEPT_OF_A_KIND:
            self._kept.append(finding)

    def note(self, kind: Kind, place: str, text: str, position: int | None = None) -> None:
        self.add(Finding(Severity.NOTE, kind, place, text, position))

    def warn(self, kind: Kind, place: str, text: str, position: int | None = None) -> None:
        self.add(Finding(Severity.WARNING, kind, place, text, position))

    def error(self, kind: Kind, place: str, text: str, position: int | None = None) -> None:
        self.add(Finding(Severity.ERROR, kind, place, text, position))

    def kept(self) -> list[Finding]:
        """The findings kept, worst first, in the order they were found."""
        return sorted(self._kept, key=lambda finding: -finding.severity)

    def counts(self) -> dict[tuple[Severity, Kind], int]:
        """The number of findings of each severity and kind, worst first."""
        return dict(sorted(self._counts.items(), key=lambda item: -item[0][0]))

    def total(self, severity: Severity) -> int:
        return sum(count for (each, _), count in self._counts.items() if each is severity)

    def has(self, kind: Kind, least: Severity = Severity.WARNING) -> bool:
        return any(each is kind and severity >= least for severity, each in self._counts)

    @property
    def is_sound(self) -> bool:
        """Whether there are only notes."""
        return not self.total(Severity.ERROR) and not self.total(Severity.WARNING)
