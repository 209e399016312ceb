"""The key an account had before, valid beside the new one while clients change over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

UNTIL_REMOVED: Final = -1

# A change over that takes longer is none: the old key has been forgotten.
OVERLAP_SECONDS_MAX: Final = 90 * 86_400


@final
@dataclass(frozen=True, slots=True)
class OldKey:
    """A secret that still signs for its account."""

    secret: str = field(repr=False)
    until_ms: int = UNTIL_REMOVED
    """Milliseconds since 1970."""

    @classmethod
    def kept(cls, secret: str, seconds: int, wall_ms: int) -> OldKey | None:
        """Of a secret that is being replaced; None where it ends now. ValueError where the time is
        none that is allowed."""
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
