"""Defines the findings of a checkup."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """Severity of a finding; a larger value is worse."""

    NOTE = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a cluster; `fix` is the command or setting that corrects it."""

    level: Level
    subject: str
    what: str
    fix: str
