"""Keeps the last report of each other member, whichever side opened the link that brought it.

If two processes use one member number, the disk that the Lease names counts. Without a Lease the
disk that knows the group counts: the other one could create a group that has none of the messages.
"""

from __future__ import annotations

from typing import final

from gantrymq.ha.election.election import FRESH_SECONDS, UNCLEAN_SECONDS
from gantrymq.ha.election.verdict import ReceivedReport
from gantrymq.ha.lease.lease import Lease
from gantrymq.ha.protocol.handshake import MemberReport


@final
class ReceivedReports:
    """The reports that one member has received; its outgoing links own them."""

    __slots__ = ("by_member",)

    def __init__(self) -> None:
        self.by_member: dict[int, ReceivedReport] = {}

    def record(
        self, member: int, member_report: MemberReport, lease: Lease | None, now: float
    ) -> None:
        """Record the report of another member; `lease` is the Lease as this member knows it."""
        known = self.by_member.get(member)
        if known is None or not _counts(known, member, member_report, lease, now):
            self.by_member[member] = ReceivedReport(member_report, now)


def _counts(
    known: ReceivedReport, member: int, other: MemberReport, lease: Lease | None, now: float
) -> bool:
    """Whether the known report of a member counts rather than a new one from another disk."""
    disk = known.member_report.disk
    if disk == other.disk:
        return False
    if lease is not None:
        return now < known.at + FRESH_SECONDS and lease.disks.get(member, "") == disk != ""
    is_known_alone = known.member_report.group != "" and other.group == ""
    return is_known_alone and now < known.at + UNCLEAN_SECONDS
