"""What a checkup finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """The larger the worse."""

    NOTE = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """`fix` is a command or a setting, as one types it."""

    level: Level
    subject: str
    what: str
    fix: str
