"""What a member wants done: it is a core, and touches neither network nor lease by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

from gantrymq.ha.lease import Lease


@final
@dataclass(frozen=True, slots=True)
class ReadLease:
    """Then call `lease_answered` with this number."""

    number: int


@final
@dataclass(frozen=True, slots=True)
class WriteLease:
    """Replace the object of `lease.version`, "" where there is to be none yet; then call
    `lease_answered` with this number. The outcome is unknown unless the store says it."""

    number: int
    lease: Lease


@final
@dataclass(frozen=True, slots=True)
class Publish:
    """The group's one address is ours now: `endpoint` of this epoch. Then call `published`."""

    epoch: int


@final
@dataclass(frozen=True, slots=True)
class Dial:
    """Connect to a member's HA address, then call `connected`, `received`, `closed` with this
    number; before the first of them `closed` says that it could not be."""

    link: int
    address: str


@final
@dataclass(frozen=True, slots=True)
class HangUp:
    """Close this connection; `closed` need not be called any more."""

    link: int
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Restart:
    """Stop this process at once, and start it again: the next start cuts the log, or begins it
    anew, as the store was told."""

    reason: str


@final
@dataclass(frozen=True, slots=True)
class Say:
    """A line for the log."""

    text: str
    is_warning: bool = False


Action: TypeAlias = ReadLease | WriteLease | Publish | Dial | HangUp | Restart | Say
