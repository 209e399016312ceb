"""Keeps the previous key of an account valid beside the new one while clients are updated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

UNTIL_REMOVED: Final = -1

# A longer overlap means that the old key was forgotten.
OVERLAP_SECONDS_MAX: Final = 90 * 86_400


@final
@dataclass(frozen=True, slots=True)
class OldKey:
    """A previous secret that is still valid for its account."""

    secret: str = field(repr=False)
    until_ms: int = UNTIL_REMOVED
    """When it expires, in milliseconds since 1970, or UNTIL_REMOVED."""

    @classmethod
    def kept(cls, secret: str, seconds: int, wall_ms: int) -> OldKey | None:
        """Keep a secret that is being replaced valid for `seconds`; None if it ends now.

        Raises ValueError if the time is not allowed.
        """
        if seconds == UNTIL_REMOVED:
            return cls(secret)
        if not 0 <= seconds <= OVERLAP_SECONDS_MAX:
            raise ValueError(
                f"{seconds} can not be used: {UNTIL_REMOVED} until it is removed, 0 to end it now,"
                f" or at most {OVERLAP_SECONDS_MAX} seconds"
            )
        return cls(secret, wall_ms + seconds * 1000) if seconds else None

    def is_valid(self, wall_ms: int) -> bool:
        return self.until_ms == UNTIL_REMOVED or wall_ms < self.until_ms
