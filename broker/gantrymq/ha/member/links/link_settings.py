"""Defines the settings of the connections between members of an elected group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.ha.protocol.handshake import Member
from gantrymq.ha.protocol.proofs import GroupSecret

# Each side sends at least one frame per HEARTBEAT_SECONDS, and closes a connection on which it has
# received nothing for SILENCE_SECONDS.
HEARTBEAT_SECONDS: Final = 0.5
SILENCE_SECONDS: Final = 3.0


@final
@dataclass(frozen=True, slots=True)
class LinkSettings:
    """The settings of one member, shared by its incoming and outgoing links."""

    me: Member
    secret: GroupSecret
    members: frozenset[int]
    """The numbers of all configured members, including this one."""
    waits: bool = True
    """Whether a message is acknowledged only after all in-sync members have it: SYNC_MASTER."""
    flushes: bool = False
    """Whether a message counts only once it is flushed to disk: SYNC_FLUSH."""
    min_in_sync: int = 2
    """The smallest in-sync set, including the master, with which messages are acknowledged;
    minInSyncReplicas."""
