"""Defines what the leader elector can ask of its member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gantrymq.ha.election.verdict import ReceivedReport
from gantrymq.ha.protocol.handshake import MemberReport


class ElectionContext(Protocol):
    """MemberContext implements it. Each answer describes the current moment."""

    def member_report(self) -> MemberReport:
        """This member's report about its own log."""

    def received_reports(self) -> Mapping[int, ReceivedReport]:
        """The last report of each other member."""

    def new_id(self) -> str:
        """A new UUID."""

    def foreign_reason(self) -> str | None:
        """Why this member's disk does not belong to this group; None if it does."""

    def stall(self, now: float) -> str | None:
        """Why this member's disk does not respond; None if it does."""

    def trouble(self, now: float) -> str | None:
        """Why this member cannot accept messages, or could not as master: a full or stalled
        disk."""

    def flush_acknowledged(self, now: float) -> bool:
        """Start flushing the log up to its current end. Returns whether everything that may have
        been acknowledged is already on the disk. For a master this is what it has acknowledged
        itself; the rest was flushed before it sought the lease."""

    def has_able_successor(self) -> bool:
        """Whether an in-sync member follows this one and could accept messages as master."""

    def follows_master(self) -> bool:
        """Whether this member follows the master that the lease names."""

    def promised_since(self) -> float | None:
        """When the last question was sent that all required members have answered with a promise;
        None if there is none."""

    def successor(self, chosen: int, now: float) -> int:
        """The member that has the complete log and may become master: the chosen member if one was
        chosen. NO_MEMBER while no member is eligible."""
