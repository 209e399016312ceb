"""Carries out an operator's decision about the disk of a member (ha/member/disk_decision.py).

A running member looks for a decision once a second. If its disk is foreign to the group, it
restarts to have the decision carried out. If it follows or leads, it drops the decision: the disk
is in use, and a decision that waited for some later restart would come as a surprise.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, final
from uuid import uuid4

from gantrymq.base.disk import Disk, DiskError
from gantrymq.ha.member import disk_decision
from gantrymq.runtime.logs import Log
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.store.layout import LOCK, StoreRefusedError

# An operator waits for it; each look is one attempt to open a file.
LOOK_SECONDS: Final = 1.0


def carry_out(root: Path, log: Log) -> None:
    """Carry out a decision, if there is one, before the store is opened. Raises StoreRefusedError
    if the decision is damaged, and DiskError if another process has the store open."""
    disk = FolderDisk(root)
    try:
        decision = disk_decision.read(disk)
        if decision is None:
            return
        disk.lock(LOCK)
        done = disk_decision.carry_out(disk, decision, lambda: uuid4().hex)
    finally:
        disk.close()  # releases the lock, which the store takes next
    log.warning("carried out a decision about this disk", decision=str(decision), done=done)


class DecidedMember(Protocol):
    """The part of the member that is needed here."""

    @property
    def is_foreign(self) -> bool: ...

    @property
    def epoch(self) -> int: ...

    @property
    def followed(self) -> str: ...


@final
class DecisionWatch:
    """Watches for a decision on behalf of one running member."""

    def __init__(self, disk: Disk, log: Log, restart: Callable[[str], None]) -> None:
        self._disk = disk
        self._log = log
        self._restart = restart
        self._last_text = ""

    def look(self, member: DecidedMember) -> None:
        """Read the decision, if there is one, and act on it."""
        try:
            decision = disk_decision.read(self._disk)
            if decision is None:
                return
            if member.is_foreign:
                self._restart(f"carrying out the decision about this disk: {decision}")
            elif member.epoch or member.followed:
                disk_decision.drop(self._disk)
                self._warn(
                    "dropped a decision about this disk",
                    decision,
                    "the group uses this disk. To carry the decision out all the same, stop the"
                    " broker and run the command again.",
                )
            else:
                self._warn(
                    "a decision about this disk waits",
                    decision,
                    "the member does not know yet whether the group uses this disk; the next"
                    " start carries the decision out",
                )
        except (DiskError, StoreRefusedError) as error:
            self._warn("cannot act on the decision about this disk", None, str(error))

    def _warn(self, event: str, decision: object, reason: str) -> None:
        """Log each event once: this is called every second."""
        if event + reason != self._last_text:
            self._last_text = event + reason
            self._log.warning(event, decision=decision, reason=reason)
