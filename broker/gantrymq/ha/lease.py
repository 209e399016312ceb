"""The one object of a group that says who its master is: it changes by compare-and-set alone.

    holder     the member that is master, 0 while nobody is; with its two addresses
    epoch      rises with each master
    in_sync    who may become master: the members that have all that was acknowledged
    fenced     who may not, whatever else is true: an operator's word
    wishes     what an operator wants; the master sees to it, and says so by `granted`

Invariant: `version` is the store's own, and another one after every change: who writes says which
version it wants to replace, and is refused when that is not the last one any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, final

from gantrymq.ha.place import Place

# The object says it, and every member goes by its own clock: HA.md's figures, all four.
DURATION_SECONDS: Final = 4.0
RENEW_SECONDS: Final = 0.8
AUTHORITY_SECONDS: Final = 3.0
"""After its last renewal, timed from when that was sent, a master acknowledges so long."""

NOBODY: Final = 0


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

    def taken(self, by: Place, epoch: int, in_sync: frozenset[int]) -> Lease:
        """This member is master."""
        return replace(
            self,
            holder=by.number,
            address=by.address,
            ha_address=by.ha_address,
            epoch=epoch,
            in_sync=in_sync | {by.number},
            heir=NOBODY,
            leaver=NOBODY,
            renewals=self.renewals + 1,
        )

    def renewed(self, in_sync: frozenset[int], granted: int) -> Lease:
        """The same one is master."""
        return replace(self, in_sync=in_sync, renewals=self.renewals + 1, granted=granted)

    def given_away(self, heir: int, leaver: int) -> Lease:
        """Nobody is, and it is the heir's for a moment. No switchover is left to be done."""
        return replace(
            self,
            holder=NOBODY,
            address="",
            ha_address="",
            heir=heir,
            leaver=leaver,
            renewals=self.renewals + 1,
            granted=max(self.granted, self.wishes.number),
        )


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
