"""What of the broker's settings replication goes by, with Java's defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HaSettings:
    """Of a master, of a slave, or of both."""

    heartbeat_seconds: float = 5.0
    """After so much silence of ours we send a sign of life; haSendHeartbeatInterval."""
    silence_seconds: float = 20.0
    """After so much silence of theirs the connection is given up; haHousekeepingInterval."""
    batch_bytes: int = 32_768
    """The log's bytes in one frame; haTransferBatchSize."""
    in_sync_bytes: int = 256 << 20
    """Who is further behind is shown as not in sync; haMaxGapNotInSync."""
    fall_behind_bytes: int = 256 << 20
    """A master waits for no slave that is further behind; haSlaveFallbehindMax."""
    waits: bool = False
    """Whether the master answers a message only when a slave has it: SYNC_MASTER."""
