"""Models the Lease, the one object of a group that names its master.

The Lease changes by compare-and-set only.

    holder     the member that is master, 0 while there is none; with its two addresses
    group      the UUID of the group: a disk of another group does not take part
    epoch      rises with each master
    in_sync    the members that may become master: those that have all acknowledged messages
    disks      the disk of each in-sync member: a member counts with this disk only
    writer     the process that is master: two processes with one number may seek the same epoch
    fenced     the members that an operator has excluded from becoming master
    operator_requests   what an operator asks for; the master confirms by `granted`

Invariants. `version` is the API's resource version and differs after every change: a writer names
the version that it replaces, and the write is rejected if that is not the current one. Each write
of a member has a higher `mark` than the write before: an object with a lower mark was set back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, final

from gantrymq.ha.lease.member_id import MemberId

# The object contains the duration, and every member measures it by its own clock. The figures are
# those of docs/design/replication.md.
DURATION_SECONDS: Final = 4.0
RENEW_SECONDS: Final = 0.8
LEASE_DEADLINE_SECONDS: Final = 3.0
"""How long a master acknowledges after its last renewal, counted from when that was sent."""

NO_MEMBER: Final = 0

# One master each four seconds for more than a century. A higher number can only come from an edit,
# and would spread to all disks.
EPOCH_MAX: Final = 10**9

NO_DISKS: Final[Mapping[int, str]] = MappingProxyType({})


@final
class Mark(NamedTuple):
    """Orders the states of a Lease by age."""

    epoch: int = 0
    renewals: int = 0


@final
@dataclass(frozen=True, slots=True)
class OperatorRequests:
    """An operator's requests, written by operators only."""

    preferred: int = NO_MEMBER
    """The member that becomes master where several are eligible."""
    switch_to: int = NO_MEMBER
    """The member that should be master now; the master hands over once it has all of the log."""
    number: int = 0
    """The number of the switchover request. It rises, so that each request is carried out once."""
    allows_unclean: bool = False
    """Whether a member that may lack acknowledged messages may become master; this is logged as a
    warning."""


@final
@dataclass(frozen=True, slots=True)
class Lease:
    """The content of the Lease, as it was read or will be written."""

    version: str = ""
    holder: int = NO_MEMBER
    address: str = ""
    """Where the holder accepts requests, `host:port`."""
    ha_address: str = ""
    epoch: int = 0
    in_sync: frozenset[int] = frozenset()
    fenced: frozenset[int] = frozenset()
    successor: int = NO_MEMBER
    """The successor chosen by the last holder: no other member seeks the lease for a moment."""
    leaver: int = NO_MEMBER
    """A member that is leaving. It is still in the in-sync set, as it has all messages, but the
    successor does not wait for it."""
    renewals: int = 0
    """The number of renewals: it changes even if nothing else does."""
    granted: int = 0
    """The number of the last switchover that was carried out or given up."""
    operator_requests: OperatorRequests = field(default_factory=OperatorRequests)
    group: str = ""
    """"" while the group has no UUID, or its members run a version without group UUIDs."""
    disks: Mapping[int, str] = field(default_factory=lambda: NO_DISKS)
    """By in-sync member; "" or absent where the disk is not known."""
    writer: str = ""
    """The process of the holder, as `MemberId.process`; "" if its version does not write it."""
    untrusted_reason: str | None = None
    """Why the Lease that was read is not trusted, though it is this group's. The other fields then
    hold the last trusted content, with the version and the operator's requests that were read."""
    claimed: frozenset[int] = frozenset()
    """The in-sync set that the untrusted Lease names: a member that trusts it could be elected."""

    @property
    def mark(self) -> Mark:
        return Mark(self.epoch, self.renewals)

    def names(self, member: int, disk: str) -> bool:
        """Whether this member, with this disk, is in the in-sync set."""
        return member in self.in_sync and self.disks.get(member, "") in ("", disk)

    def is_held_by(self, member: int, disk: str) -> bool:
        """Whether this member, with this disk, holds the lease; not another process with its
        number."""
        return self.holder == member and self.disks.get(member, "") in ("", disk)

    def is_written_by(self, member_id: MemberId) -> bool:
        """Whether this very process wrote itself as the holder."""
        return self.holder == member_id.number and self.writer == member_id.process

    def acquired(
        self, by: MemberId, epoch: int, in_sync: frozenset[int], disks: Mapping[int, str] = NO_DISKS
    ) -> Lease:
        """The lease with this member as the new master."""
        return replace(
            self,
            untrusted_reason=None,
            claimed=frozenset(),
            disks=disks,
            holder=by.number,
            address=by.address,
            ha_address=by.ha_address,
            writer=by.process,
            epoch=epoch,
            in_sync=in_sync | {by.number},
            successor=NO_MEMBER,
            leaver=NO_MEMBER,
            renewals=self.renewals + 1,
        )

    def renewed(
        self,
        by: MemberId,
        in_sync: frozenset[int],
        granted: int,
        disks: Mapping[int, str] = NO_DISKS,
    ) -> Lease:
        """The lease renewed by its current holder, with its current addresses."""
        return replace(
            self,
            untrusted_reason=None,
            claimed=frozenset(),
            address=by.address,
            ha_address=by.ha_address,
            writer=by.process,
            in_sync=in_sync,
            disks=disks,
            renewals=self.renewals + 1,
            granted=granted,
        )

    def released(self, successor: int, leaver: int) -> Lease:
        """The lease without a holder, reserved for the successor for a moment. Pending switchover
        requests count as done."""
        return replace(
            self,
            untrusted_reason=None,
            claimed=frozenset(),
            holder=NO_MEMBER,
            address="",
            ha_address="",
            writer="",
            successor=successor,
            leaver=leaver,
            renewals=self.renewals + 1,
            granted=max(self.granted, self.operator_requests.number),
        )


def untrusted_reason_of(lease: Lease, known: Lease, *, leads: bool = False) -> str | None:
    """Why a Lease that was read cannot be a successor of `known`; None if it can. `leads`: the
    member that read it is master by `known`."""
    if lease.untrusted_reason is not None:
        return lease.untrusted_reason
    if lease.group != known.group and lease.group and known.group:
        # Without a master the caller decides by the group of its own disk.
        text = f"it belongs to the group {lease.group}, and this master to {known.group}"
        return f"{text}: an edit replaced this group's Lease" if leads else None
    if known.group and not lease.group:  # without a group it has no seal either
        return "it does not name the group: its annotations were edited"
    if lease.mark < known.mark:
        return (
            f"it is older than what this member has seen: epoch {lease.epoch} renewal"
            f" {lease.renewals}, after epoch {known.epoch} renewal {known.renewals}"
        )
    if lease.mark == known.mark and not _says_the_same(lease, known):
        return "a program that is not a member changed it"
    if lease.epoch == known.epoch and lease.holder not in (NO_MEMBER, known.holder):
        return (
            f"it names member {lease.holder} as master of epoch {lease.epoch}, and the master of"
            f" that epoch is member {known.holder}"
        )
    return None


def _says_the_same(lease: Lease, known: Lease) -> bool:
    """Copies kept by older versions have no writer, which matches any."""
    is_same_writer = known.writer in ("", lease.writer)
    return is_same_writer and _content(lease) == _content(known)


def _content(lease: Lease) -> tuple[object, ...]:
    """The fields that only members write."""
    by_holder = lease.holder, lease.address, lease.ha_address, lease.granted
    return *by_holder, lease.in_sync, dict(lease.disks), lease.successor, lease.leaver


# ---------------------------------------------------------------------- answers of the lease store


@final
@dataclass(frozen=True, slots=True)
class Found:
    """The object was read."""

    lease: Lease


@final
@dataclass(frozen=True, slots=True)
class Missing:
    """The object does not exist."""


@final
@dataclass(frozen=True, slots=True)
class Written:
    """The write succeeded; `version` is the new version."""

    version: str


@final
@dataclass(frozen=True, slots=True)
class Conflict:
    """Another writer changed the object since it was read: nothing was written."""


@final
@dataclass(frozen=True, slots=True)
class Unanswered:
    """The outcome of a write is unknown, or the object could not be read. `text` says why."""

    text: str


LeaseAnswer: TypeAlias = Found | Missing | Written | Conflict | Unanswered
