"""Defines the actions that a member asks its I/O layer to carry out; the member does no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

from gantrymq.ha.lease.lease import Lease


@final
@dataclass(frozen=True, slots=True)
class ReadLease:
    """Read the lease, then call `lease_answered` with this number."""

    number: int


@final
@dataclass(frozen=True, slots=True)
class WriteLease:
    """Replace the object of `lease.version` ("" creates it), then call `lease_answered` with this
    number. The outcome is unknown unless the lease store reports it."""

    number: int
    lease: Lease


@final
@dataclass(frozen=True, slots=True)
class Publish:
    """Publish this broker as the group's address: write `endpoint` of this epoch, then call
    `published`."""

    epoch: int


@final
@dataclass(frozen=True, slots=True)
class Connect:
    """Connect to a member's HA address, then call `connected`, `received`, `closed` with this
    number. `closed` before `connected` means that the connection failed."""

    link: int
    address: str


@final
@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close this connection; calling `closed` for it is not necessary."""

    link: int
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Restart:
    """Stop this process at once and start it again. The next start truncates the log, or begins an
    empty one, as requested in the store's directory."""

    reason: str


@final
@dataclass(frozen=True, slots=True)
class WriteLogLine:
    """Write a log line."""

    text: str
    is_warning: bool = False


Action: TypeAlias = ReadLease | WriteLease | Publish | Connect | Disconnect | Restart | WriteLogLine
