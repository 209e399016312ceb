"""Defines the settings of classic master-slave replication, with RocketMQ's defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HaSettings:
    """Settings of a master, of a slave, or of both."""

    heartbeat_seconds: float = 5.0
    """Send a heartbeat after sending nothing for this long; haSendHeartbeatInterval."""
    silence_seconds: float = 20.0
    """Close a connection on which nothing arrived for this long; haHousekeepingInterval."""
    batch_bytes: int = 32_768
    """The largest number of log bytes in one frame; haTransferBatchSize."""
    in_sync_bytes: int = 256 << 20
    """A slave that is further behind is reported as not in sync; haMaxGapNotInSync."""
    fall_behind_bytes: int = 256 << 20
    """The master does not wait for a slave that is further behind; haSlaveFallbehindMax."""
    waits: bool = False
    """Whether the master acknowledges a message only after a slave has it: SYNC_MASTER."""
