"""Defines how long operations report their progress; by default the reports are discarded.

    admin.pace.begin(340)    an operation of 340 parts begins
    admin.pace.advance()     one part has finished, successfully or not
    admin.pace.end()

Operations may be nested: only the outermost one counts.
"""

from __future__ import annotations

from typing import Final, Protocol, final


class Pace(Protocol):
    """Receives the progress of one operation after another."""

    def begin(self, parts: int) -> None: ...

    def advance(self, parts: int = 1) -> None: ...

    def end(self) -> None: ...


@final
class SilentPace:
    """Discards the progress."""

    def begin(self, parts: int) -> None:
        """Do nothing."""

    def advance(self, parts: int = 1) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


SILENT: Final[Pace] = SilentPace()
