"""Identifies a member: its number, its addresses and its process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class MemberId:
    """The identity of one member within its group."""

    number: int
    configured: frozenset[int]
    """The numbers of all configured members."""
    address: str
    ha_address: str
    process: str
    """A random text made by this process. It distinguishes this process's writes of the Lease from
    those of another process with the same member number, even if that process runs on a copy of
    this member's disk."""
