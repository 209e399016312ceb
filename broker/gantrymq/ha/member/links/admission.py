"""Decides which connections a member accepts, and which processes may follow it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import final

from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.member.links.incoming_link import IncomingLink
from gantrymq.ha.member.links.link_phase import LinkPhase
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.protocol.handshake import MemberReport


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the process may not follow: a word for programs and a text for operators."""

    reason: str
    text: str
    newer_epoch: int | None = None
    """A newer epoch that the process knows, if both disks name the same group, or none."""


def displaced(links: Collection[IncomingLink]) -> IncomingLink | None:
    """The link that makes room for another one: of the links without proof the oldest of the
    address that has most of them, so that a flood from one address displaces only its own links."""
    unproven = [each for each in links if each.phase is LinkPhase.HANDSHAKE]
    hosts = [each.address.rpartition(":")[0] for each in unproven]
    counts = [hosts.count(host) for host in hosts]
    pairs = zip(counts, unproven, strict=True)
    most = max((count for count, each in pairs if not each.is_over), default=0)
    for count, each in zip(counts, unproven, strict=True):
        if count == most and not each.is_over:
            return each
    return None


def refusal_by_any_member(
    settings: LinkSettings, number: int, theirs: MemberReport, ours: MemberReport
) -> Refusal | None:
    """Why no member accepts the process as a follower, master or not; None if a master may."""
    if number not in settings.members:
        names = ", ".join(map(str, sorted(settings.members)))
        text = f"member {number} is not in groupMembers of this member, which has {names}"
        return Refusal("unknown-member", text)
    if theirs.group and ours.group and theirs.group != ours.group:
        text = f"the disk of member {number} belongs to the group {theirs.group}, not {ours.group}"
        return Refusal("other-group", text)
    if theirs.epoch > ours.epoch and (ours.group or not theirs.group):
        me = settings.me.number
        text = f"member {number} knows epoch {theirs.epoch}, and member {me} only {ours.epoch}"
        # A disk that has not taken this group's UUID may have the epochs of another group.
        newer_epoch = theirs.epoch if theirs.group == ours.group else None
        return Refusal("stale", text, newer_epoch)
    return None


def seat_conflict(
    in_sync: InSyncReplicas, number: int, disk: str, former: IncomingLink | None
) -> str | None:
    """Why a process with this disk may not follow as this member; None if it may. `former` is the
    link on which this member follows already."""
    counted = in_sync.other_disk(number, disk)
    if counted is not None:
        return (
            f"member {number} is in sync with the disk {counted}, and this process has the disk"
            f" {disk or 'unknown'}: it may follow once the other disk has left the in-sync set"
        )
    if former is None or former.member_report is None or former.member_report.disk == disk:
        return None
    return (
        f"two processes claim to be member {number}: {former.address} follows with the"
        f" disk {former.member_report.disk}, so stop this one, which has the disk"
        f" {disk or 'none'}"
    )
