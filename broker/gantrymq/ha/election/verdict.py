"""Defines what the decision of election.py is based on, and its result.

View and Verdict are tuples because a follower creates them in each of its turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, final

from gantrymq.base.bounds import NEVER
from gantrymq.ha.lease.lease import Lease
from gantrymq.ha.protocol.handshake import MemberReport


@final
@dataclass(frozen=True, slots=True)
class ReceivedReport:
    """The last report of another member, and when it arrived."""

    member_report: MemberReport
    at: float


@final
class View(NamedTuple):
    """Everything the decision is based on."""

    me: int
    configured: frozenset[int]
    member_report: MemberReport
    """This member's own report; its epoch is the highest this member has seen."""
    lease: Lease | None
    """The Lease as it was last read; None if there is none."""
    changed_at: float
    """When this member first read the current renewal of it."""
    touched_at: float
    """When this member first read the current version of it."""
    received_reports: Mapping[int, ReceivedReport]
    stall: str | None = None
    """Why this member's disk does not respond."""
    trouble: str | None = None
    """Why this member could not accept messages; consumers can still read."""
    foreign_reason: str | None = None
    """Why this member's disk does not belong to the group."""


@final
class Verdict(NamedTuple):
    """The decision. If `epoch` is not 0, this member seeks that epoch now. Otherwise `again_at` is
    when the decision may change without another event."""

    reason: str
    epoch: int = 0
    again_at: float = NEVER
    in_sync: frozenset[int] = frozenset()
    """The other members that are present and have everything that was acknowledged."""
    is_unclean: bool = False
    is_missing: bool = False
    """There is no lease: the member has to create an empty one."""
    is_given_up: bool = False
    """This member holds the lease from an earlier run, and has to release it to another member."""
