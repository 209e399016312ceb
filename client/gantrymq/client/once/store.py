"""Defines the store that remembers which messages are processed."""

from __future__ import annotations

from enum import Enum
from typing import Final, Protocol

# How long a broker may deliver a message again: sixteen retries take less than five hours, but a
# group may be stopped for a weekend.
RETENTION_S: Final = 7 * 86_400.0

# The time for one call of a listener: the default of a consumer's `consume_timeout_s`.
LEASE_S: Final = 900.0


class Claim(Enum):
    """The result of a claim."""

    NEW = "new"
    """The caller owns the key until it is done, released, or the lease expires."""
    DONE = "done"
    """The message was processed."""
    BUSY = "busy"
    """Another delivery owns the key."""


class OnceStore(Protocol):
    """Remembers the keys of messages. Its methods may block, because they are called in a thread,
    and one call is made at a time.

    Each delivery is another owner. A delivery that resumes after its lease finds the claim of
    another owner and does not change it."""

    @property
    def lease_s(self) -> float:
        """How long a claim is valid, in seconds."""

    def claim(self, key: str, owner: str) -> Claim:
        """Claim the key for the owner, if it is free or its claim has expired."""

    def renew(self, key: str, owner: str) -> bool:
        """Extend the owner's claim by a lease; return whether the owner still had it."""

    def done(self, key: str) -> None:
        """Mark the key as processed, whichever owner has the claim now."""

    def release(self, key: str, owner: str) -> None:
        """Remove the owner's claim, so that the next delivery can claim the key. A key that is
        done, or that another owner has, stays."""
