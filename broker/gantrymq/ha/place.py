"""Who a member is, and where others find it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Of one member, in its group."""

    number: int
    configured: frozenset[int]
    """The numbers of all members."""
    address: str
    ha_address: str
    process: str
    """A random text of this process: it tells its writes of the Lease from those of another process
    in the same seat, even one whose disk is a copy of ours."""
