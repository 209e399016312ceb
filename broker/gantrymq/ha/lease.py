"""The one object of a group that says who its master is: it changes by compare-and-set alone.

    holder     the member that is master, 0 while nobody is; with its two addresses
    group      its UUID: a disk that belongs to another one has no part in it
    epoch      rises with each master
    in_sync    who may become master: the members that have all that was acknowledged
    disks      the disk of each member of that set: a seat counts with no other one
    writer     the process that is master: two processes in one seat may seek the same epoch
    fenced     who may not, whatever else is true: an operator's word
    wishes     what an operator wants; the master sees to it, and says so by `granted`

Invariants. `version` is the store's own, and another one after every change: who writes says which
version it wants to replace, and is refused when that is not the last one any more. Each write of a
member has a higher `mark` than the one before: an object with a lower one was set back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, final

from gantrymq.ha.place import Place

# The object says it, and every member goes by its own clock: the figures of
# docs/design/replication.md.
DURATION_SECONDS: Final = 4.0
RENEW_SECONDS: Final = 0.8
AUTHORITY_SECONDS: Final = 3.0
"""After its last renewal, timed from when that was sent, a master acknowledges so long."""

NOBODY: Final = 0

# A master each four seconds for a century. What is higher was edited in, and would be on all disks.
EPOCH_MAX: Final = 10**9

NO_DISKS: Final[Mapping[int, str]] = MappingProxyType({})


@final
class Mark(NamedTuple):
    """How new what a Lease says is."""

    epoch: int = 0
    renewals: int = 0


@final
@dataclass(frozen=True, slots=True)
class Wishes:
    """Of an operator, who only ever writes these."""

    preferred: int = NOBODY
    """Who is to be master where several may."""
    switch_to: int = NOBODY
    """Who is to be master now; the master hands over once that member has all of the log."""
    number: int = 0
    """Of the switchover, so that it is done once; it rises."""
    allows_unclean: bool = False
    """Whether a member that may lack acknowledged messages may become master: said loudly."""


@final
@dataclass(frozen=True, slots=True)
class Lease:
    """As it was read, or is to be written."""

    version: str = ""
    holder: int = NOBODY
    address: str = ""
    """Where the holder takes requests, `host:port`."""
    ha_address: str = ""
    epoch: int = 0
    in_sync: frozenset[int] = frozenset()
    fenced: frozenset[int] = frozenset()
    heir: int = NOBODY
    """Whom the last holder handed it to: nobody else seeks it for a moment."""
    leaver: int = NOBODY
    """Of the set, and still counts: it has everything. But the heir is not to wait for it."""
    renewals: int = 0
    """How often it was renewed: what changes when nothing else does."""
    granted: int = 0
    """The number of the last switchover that was done, or given up."""
    wishes: Wishes = field(default_factory=Wishes)
    group: str = ""
    """"" while the group has none, or its members are of a version that knows none."""
    disks: Mapping[int, str] = field(default_factory=lambda: NO_DISKS)
    """Of the members of the set; "", or none, where that was not known."""
    writer: str = ""
    """The process of the holder, as `Place.process`; "" where its version knows none."""
    doubt: str | None = None
    """Why what it says is not believed, though it is our group's: then it is what we knew before
    that stands here, with the version and the wishes of what was read."""
    claimed: frozenset[int] = frozenset()
    """The set that a doubted one says: members that know no better could be elected by it."""

    @property
    def mark(self) -> Mark:
        return Mark(self.epoch, self.renewals)

    def names(self, member: int, disk: str) -> bool:
        """Whether this member is of the set, with this disk."""
        return member in self.in_sync and self.disks.get(member, "") in ("", disk)

    def is_of(self, member: int, disk: str) -> bool:
        """Whether this member holds it, with this disk: not another process with its number."""
        return self.holder == member and self.disks.get(member, "") in ("", disk)

    def is_by(self, place: Place) -> bool:
        """Whether this very process wrote that it is the holder."""
        return self.holder == place.number and self.writer == place.process

    def taken(
        self, by: Place, epoch: int, in_sync: frozenset[int], disks: Mapping[int, str] = NO_DISKS
    ) -> Lease:
        """This member is master."""
        return replace(
            self,
            doubt=None,
            claimed=frozenset(),
            disks=disks,
            holder=by.number,
            address=by.address,
            ha_address=by.ha_address,
            writer=by.process,
            epoch=epoch,
            in_sync=in_sync | {by.number},
            heir=NOBODY,
            leaver=NOBODY,
            renewals=self.renewals + 1,
        )

    def renewed(
        self,
        by: Place,
        in_sync: frozenset[int],
        granted: int,
        disks: Mapping[int, str] = NO_DISKS,
    ) -> Lease:
        """The same one is master, and says again where it is."""
        return replace(
            self,
            doubt=None,
            claimed=frozenset(),
            address=by.address,
            ha_address=by.ha_address,
            writer=by.process,
            in_sync=in_sync,
            disks=disks,
            renewals=self.renewals + 1,
            granted=granted,
        )

    def given_away(self, heir: int, leaver: int) -> Lease:
        """Nobody is, and it is the heir's for a moment. No switchover is left to be done."""
        return replace(
            self,
            doubt=None,
            claimed=frozenset(),
            holder=NOBODY,
            address="",
            ha_address="",
            writer="",
            heir=heir,
            leaver=leaver,
            renewals=self.renewals + 1,
            granted=max(self.granted, self.wishes.number),
        )


def doubt_of(lease: Lease, known: Lease, *, leads: bool = False) -> str | None:
    """Why a Lease that was read cannot be what followed on `known`; None where it can. `leads`: the
    member that read it is master by `known`."""
    if lease.doubt is not None:
        return lease.doubt
    if lease.group != known.group and lease.group and known.group:
        # Where no master is at work, whose disk this is says what that means.
        text = f"it is of the group {lease.group}, and the master's is {known.group}"
        return f"{text}: an edit has put it in the place of ours" if leads else None
    if known.group and not lease.group:  # without it there is no seal either
        return "it names no group any more: its annotations were edited"
    if lease.mark < known.mark:
        return (
            f"it is older than what this member has seen: epoch {lease.epoch} renewal"
            f" {lease.renewals}, after epoch {known.epoch} renewal {known.renewals}"
        )
    if lease.mark == known.mark and not _says_the_same(lease, known):
        return "somebody has changed it who is no member"
    if lease.epoch == known.epoch and lease.holder not in (NOBODY, known.holder):
        return f"it names member {lease.holder} in epoch {lease.epoch}, which was {known.holder}'s"
    return None


def _says_the_same(lease: Lease, known: Lease) -> bool:
    """A copy that an older version kept names no writer."""
    is_same_writer = known.writer in ("", lease.writer)
    return is_same_writer and _content(lease) == _content(known)


def _content(lease: Lease) -> tuple[object, ...]:
    """What only members write."""
    who = lease.holder, lease.address, lease.ha_address, lease.granted
    return *who, lease.in_sync, dict(lease.disks), lease.heir, lease.leaver


# ---------------------------------------------------------------------- answers of the lease store


@final
@dataclass(frozen=True, slots=True)
class Found:
    """It was read."""

    lease: Lease


@final
@dataclass(frozen=True, slots=True)
class Missing:
    """There is no such object."""


@final
@dataclass(frozen=True, slots=True)
class Written:
    """It is as we wanted it; `version` is the new one."""

    version: str


@final
@dataclass(frozen=True, slots=True)
class Conflict:
    """Somebody changed it since we read it: nothing was written."""


@final
@dataclass(frozen=True, slots=True)
class Unanswered:
    """Nobody knows whether it was written, or it could not be read. `text` says why."""

    text: str


LeaseAnswer: TypeAlias = Found | Missing | Written | Conflict | Unanswered
