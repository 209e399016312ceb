"""Collects the log lines of a leader elector, and words what several of them show."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import final

from gantrymq.ha.election.actions import WriteLogLine
from gantrymq.ha.lease.lease import Lease


@final
class LogLines:
    """The log lines that were not taken yet; the leader elector and its parts share them."""

    __slots__ = ("_last_text", "_lines")

    def __init__(self) -> None:
        self._last_text = ""
        self._lines: list[WriteLogLine] = []

    def say(self, text: str, *, is_warning: bool = False) -> None:
        """Log a line, unless it repeats the previous one."""
        if text != self._last_text:
            self._last_text = text
            self._lines.append(WriteLogLine(text, is_warning=is_warning))

    def take(self) -> Sequence[WriteLogLine]:
        """The lines to write now, in order."""
        lines, self._lines = self._lines, []
        return lines


def member_list(members: AbstractSet[int]) -> str:
    """Member numbers as log lines show them: [1,2,3]."""
    return f"[{','.join(map(str, sorted(members)))}]"


def other_master(lease: Lease | None, me: int) -> str:
    """Describes the current master, which is another process than that of member `me`."""
    if lease is None:
        return "the lease was deleted"
    if lease.holder == me:
        return f"another process of member {me} is master in epoch {lease.epoch}"
    holder = f"member {lease.holder}" if lease.holder else "no member"
    return f"{holder} is master in epoch {lease.epoch}"
