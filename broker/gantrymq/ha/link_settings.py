"""What the links of a member go by: who belongs to the group, and how long silence may last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.ha.handshake import Member
from gantrymq.ha.proofs import GroupSecret

# Both sides say something so often, and are given up when they did not for so long.
HEARTBEAT_SECONDS: Final = 0.5
SILENCE_SECONDS: Final = 3.0


@final
@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Of one member."""

    me: Member
    secret: GroupSecret
    members: frozenset[int]
    """The numbers of all that are configured, ours among them."""
    waits: bool = True
    """Whether a message is answered when the members in sync have it: SYNC_MASTER."""
    flushes: bool = False
    """Whether what is on a disk counts, not what is in a log: SYNC_FLUSH."""
    min_in_sync: int = 2
    """So many have to be in sync, the master among them, for a message to be acknowledged;
    minInSyncReplicas."""
