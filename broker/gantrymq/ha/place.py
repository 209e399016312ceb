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
