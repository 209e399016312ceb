"""Defines the result of a read. It has a module of its own, because async_reader.py is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gantrymq.base.disk import DiskError
from gantrymq.base.errors import CorruptionError


@final
@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the read with this key: its result, or its error."""

    key: int
    result: object = None
    error: DiskError | CorruptionError | None = None
