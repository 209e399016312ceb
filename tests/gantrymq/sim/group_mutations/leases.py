"""Breaks rules of the Lease: what counts as a renewal, and which Lease is believed."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.ha.election import election, lease_client_state
from gantrymq.ha.election.verdict import Verdict, View
from gantrymq.ha.lease import lease_object
from gantrymq.ha.lease.lease import Lease
from gantrymq.ha.lease.lease_object import LeaseObject
from gantrymq.ha.member.replica_state import ReplicaState
from gantrymq.sim.group_mutations.patch import PATCH


def any_change_renews() -> None:
    def renewal(lease: Lease | None) -> str | None:
        return None if lease is None else lease.version

    PATCH.setattr(lease_client_state, "_renewal", renewal)


def copies_are_not_kept() -> None:
    PATCH.setattr(ReplicaState, "note_lease", lambda self, lease: None)


def seals_are_ignored() -> None:
    PATCH.setattr(lease_object, "_check_seal", lambda lease, seal: None)


def processes_of_a_seat_are_not_told_apart() -> None:
    PATCH.setattr(Lease, "is_written_by", lambda self, place: self.holder == place.number)


def operator_requests_are_strict() -> None:
    """A request that cannot be read makes the Lease untrusted."""
    read = lease_object.read

    def strict(data: bytes) -> LeaseObject:
        found = read(data)
        if not found.ignored:
            return found
        return replace(
            found, lease=replace(found.lease, in_sync=frozenset(), untrusted_reason="a typo")
        )

    PATCH.setattr(lease_object, "read", strict)


def the_opt_in_is_not_consulted_in_the_set() -> None:
    torn = election._judge_damaged

    def stern(
        view: View, lease: Lease, said: dict[int, object], free_at: float, now: float
    ) -> Verdict:
        operator_requests = replace(lease.operator_requests, allows_unclean=False)
        return torn(view, replace(lease, operator_requests=operator_requests), said, free_at, now)  # type: ignore[arg-type]  # as it came

    PATCH.setattr(election, "_judge_damaged", stern)


def all_are_judged_with_a_member_missing() -> None:
    PATCH.setattr(election, "_missing", lambda view, lease, heard, now: frozenset())
