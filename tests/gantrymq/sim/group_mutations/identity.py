"""Breaks rules of identity: disks, seats, and mounts."""

from __future__ import annotations

from collections.abc import Mapping

from gantrymq.ha.election import election
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.election.verdict import Verdict, View
from gantrymq.ha.lease.lease import Lease
from gantrymq.ha.member.member_context import MemberContext
from gantrymq.ha.protocol.handshake import MemberReport
from gantrymq.sim.group_mutations.patch import PATCH
from gantrymq.sim.nodes.group_node import Node


def foreign_disks_vote() -> None:
    def heard(view: View, lease: Lease, now: float) -> Mapping[int, MemberReport]:
        return election.fresh(view.received_reports, now)

    PATCH.setattr(MemberContext, "foreign_reason", lambda self: None)
    PATCH.setattr(election, "_heard", heard)


def seats_count_with_any_disk() -> None:
    def names(self: Lease, member: int, disk: str) -> bool:
        return member in self.in_sync

    PATCH.setattr(Lease, "names", names)
    PATCH.setattr(InSyncReplicas, "other_disk", lambda self, member, disk: None)


def mounts_do_not_count() -> None:
    """Only a start of the machine is a sign that what was cached is gone."""
    PATCH.setattr(Node, "boot", property(lambda self: f"boot {self.boots}"))


def empty_members_make_the_lease() -> None:
    def hasty(view: View, now: float) -> Verdict:
        return Verdict("there is no lease", is_missing=True)

    PATCH.setattr(election, "_judge_missing", hasty)
