"""How a reading ended. Beside the readings: those are compiled, and this cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError


@final
@dataclass(frozen=True, slots=True)
class Finished:
    """How the reading of this key ended: with its result, or with the error."""

    key: int
    result: object = None
    error: DiskError | CorruptionError | None = None
