"""What the links between members tell their owner. An `Ended` is always the last one of a link.

What comes with each turn is a tuple, as in events.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

from gantrymq.ha.events import Copied, Ended
from gantrymq.ha.handshake import Member, Standing
from gantrymq.ha.member_frames import Beat, Report


@final
@dataclass(frozen=True, slots=True)
class Met:
    """Who dialed us has proven that it is this member, and said what its log is."""

    member: Member
    standing: Standing


@final
class Reported(NamedTuple):
    """What a follower has now; of all that it said at once, the last."""

    report: Report


@final
@dataclass(frozen=True, slots=True)
class NewerEpoch:
    """A member has seen this epoch, which is higher than ours: there is a newer master."""

    epoch: int


@final
@dataclass(frozen=True, slots=True)
class Welcomed:
    """We may follow this master. `parting` is up to where both logs are equal, None if nothing says
    that they ever were; `begins` where what it sends goes on with ours. None: nothing is sent, as
    our log has to be cut at `parting`, or to be begun anew."""

    master: Member
    standing: Standing
    parting: int | None
    begins: int | None


@final
@dataclass(frozen=True, slots=True)
class Refused:
    """It is no master of ours. The connection is to be closed."""

    member: Member
    reason: str
    words: str
    standing: Standing


@final
@dataclass(frozen=True, slots=True)
class Beaten:
    """What the master says of itself; of several at once, the last."""

    beat: Beat


@final
@dataclass(frozen=True, slots=True)
class Tabled:
    """All of what the master knows of something. Its number is reported once this is stored for
    good, and those before."""

    number: int
    name: str
    content: bytes


MemberFollowerEvent: TypeAlias = Met | Reported | Ended
MemberFollowersEvent: TypeAlias = Met | NewerEpoch | Ended
MemberFollowingEvent: TypeAlias = Welcomed | Refused | Copied | Beaten | Tabled | Ended
