"""Defines the events that links between members report to their owner.

An `Ended` is always the last event of a link. Events that occur in each turn are tuples, as in
events.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

from gantrymq.ha.protocol.events import Copied, Ended
from gantrymq.ha.protocol.handshake import Member, MemberReport
from gantrymq.ha.protocol.member_frames import Heartbeat, Report


@final
@dataclass(frozen=True, slots=True)
class Identified:
    """The peer that connected has proved that it is this member, and has reported its log."""

    member: Member
    member_report: MemberReport


@final
class Reported(NamedTuple):
    """The state of a follower; the last of several reports that arrived together."""

    report: Report


@final
@dataclass(frozen=True, slots=True)
class NewerEpoch:
    """A member has seen this epoch, which is higher than this member's: there is a newer master."""

    epoch: int


@final
@dataclass(frozen=True, slots=True)
class Welcomed:
    """This master accepts this member as a follower. `divergence`: both logs are equal up to here,
    None if no common epoch is known. `begins`: where the master's bytes continue this log; None
    if the master sends none, because this log first has to be truncated at `divergence`, or
    copied again."""

    master: Member
    member_report: MemberReport
    divergence: int | None
    begins: int | None


@final
@dataclass(frozen=True, slots=True)
class Refused:
    """The peer is not a master for this member. The connection has to be closed."""

    member: Member
    reason: str
    text: str
    member_report: MemberReport


@final
@dataclass(frozen=True, slots=True)
class HeartbeatReceived:
    """A heartbeat of the master; the last of several that arrived together."""

    heartbeat: Heartbeat


@final
@dataclass(frozen=True, slots=True)
class TableReceived:
    """A metadata table of the master. Its number is reported once this table and all before it are
    flushed."""

    number: int
    name: str
    content: bytes


IncomingLinkEvent: TypeAlias = Identified | Reported | Ended
IncomingLinksEvent: TypeAlias = Identified | NewerEpoch | Ended
OutgoingLinkEvent: TypeAlias = (
    Welcomed | Refused | Copied | HeartbeatReceived | TableReceived | Ended
)
