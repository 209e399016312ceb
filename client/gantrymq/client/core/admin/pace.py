"""How far a long piece of work is, told to whoever shows it; by itself nobody does.

admin.pace.begin(340)    work of so many parts begins
admin.pace.advance()     one of them is over, done or failed
admin.pace.end()

Work may consist of other work: the outermost is what counts.
"""

from __future__ import annotations

from typing import Final, Protocol, final


class Pace(Protocol):
    """Hears of one piece of work after another."""

    def begin(self, parts: int) -> None: ...

    def advance(self, parts: int = 1) -> None: ...

    def end(self) -> None: ...


@final
class SilentPace:
    """For programs that wait without looking."""

    def begin(self, parts: int) -> None:
        """Nobody looks."""

    def advance(self, parts: int = 1) -> None:
        """As before."""

    def end(self) -> None:
        """As before."""


SILENT: Final[Pace] = SilentPace()
