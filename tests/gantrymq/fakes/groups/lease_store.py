"""A lease store in memory that can be gone, or forgetful."""

from __future__ import annotations

from dataclasses import replace
from typing import final

from gantrymq.ha.election.actions import ReadLease, WriteLease
from gantrymq.ha.lease.lease import (
    Conflict,
    Found,
    Lease,
    LeaseAnswer,
    Missing,
    Unanswered,
    Written,
)


@final
class LeaseStore:
    """Compare-and-set, as the real one."""

    def __init__(self, lease: Lease | None = None) -> None:
        self.is_gone = False
        self.is_forgetful = False
        """It carries out writes and does not answer them."""
        self.is_read_only = False
        self.lease = lease
        self.writes: list[Lease] = []
        self._version = 10

    def carry_out(self, action: ReadLease | WriteLease) -> LeaseAnswer:
        if self.is_gone:
            return Unanswered("connection refused")
        if isinstance(action, ReadLease):
            return Missing() if self.lease is None else Found(self.lease)
        if self.is_read_only:
            return Unanswered("403")
        if action.lease.version != ("" if self.lease is None else self.lease.version):
            return Conflict()
        self.writes.append(action.lease)
        self.edit(action.lease)
        return Unanswered("timed out") if self.is_forgetful else Written(str(self._version))

    def edit(self, lease: Lease) -> None:
        """As an operator or another member does."""
        self._version += 1
        self.lease = replace(lease, version=str(self._version))
