"""Provides leases, reports of members and the verdict of one member of a group of three."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.election.election import judge
from gantrymq.ha.election.verdict import ReceivedReport, Verdict, View
from gantrymq.ha.lease.lease import NO_MEMBER, Lease
from gantrymq.ha.protocol.handshake import MemberReport

ALL = frozenset({1, 2, 3})
LEASE = Lease("7", holder=1, epoch=4, in_sync=ALL)
FREE = replace(LEASE, holder=NO_MEMBER)
CHANGED_AT = 100.0
LATER = CHANGED_AT + 3600.0


def member_report(
    end: int = 500, *, epoch: int = 4, last: int = 4, electable: bool = True
) -> MemberReport:
    return MemberReport(epoch, (Epoch(last, 0),), 0, end, is_electable=electable)


def verdict(
    lease: Lease | None,
    now: float = LATER,
    *,
    me: int = 2,
    ours: MemberReport | None = None,
    others: Mapping[int, MemberReport] | None = None,
    stall: str | None = None,
    trouble: str | None = None,
    touched_at: float = CHANGED_AT,
) -> Verdict:
    received_reports = {each: ReceivedReport(said, now) for each, said in (others or {}).items()}
    ours = member_report() if ours is None else ours
    view = View(me, ALL, ours, lease, CHANGED_AT, touched_at, received_reports, stall, trouble)
    return judge(view, now)
