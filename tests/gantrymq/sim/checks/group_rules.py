"""What the checks of a simulated group are told of it: its promises, and each broker's process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

from gantrymq.ha.lease.lease import Lease


class Process(Protocol):
    """What is asked of a broker's process."""

    @property
    def number(self) -> int:
        """The number of its machine."""

    @property
    def key(self) -> int:
        """The key of its volume."""

    @property
    def epoch(self) -> int:
        """That it leads; 0 while it does not."""

    @property
    def epoch_seen(self) -> int:
        """The highest it knows of."""

    @property
    def epoch_copied(self) -> int:
        """The latest of which its log has a beginning, as it knows since a master took it in."""

    @property
    def flushed(self) -> int:
        """How far its log is flushed to its disk."""

    @property
    def decided(self) -> Lease | None:
        """What the Lease said when the answer that leaves was decided; None: nothing to go by."""

    @property
    def has_old_clock(self) -> bool:
        """Whether its clocks stood still so short ago that it cannot know that its time is over."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a group promises."""

    waits: bool
    """Messages wait for members: else being told SEND_OK is no promise, nor being read."""
    flushes: bool
    """Messages wait for disks."""
    least: int
    """Members a message has to have."""
    file_bytes: int
