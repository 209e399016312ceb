"""Logs which annotations of the Lease are ignored, once for each change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gantrymq.runtime.logs import Log


@final
class IgnoredAnnotationsLog:
    """Remembers what a member logged last, because it reads the Lease every second."""

    __slots__ = ("_ignored", "_log")

    def __init__(self, log: Log) -> None:
        self._log = log
        self._ignored: Sequence[str] = ()

    def write(self, ignored: Sequence[str]) -> None:
        """Log these causes unless they were logged last."""
        if ignored != self._ignored:
            self._ignored = ignored
            if ignored:
                self._log.warning("ignoring annotations of the Lease", cause="; ".join(ignored))
