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

    def is_valid(self, wall_ms: int) -> bool:
        return self.until_ms == UNTIL_REMOVED or wall_ms < self.until_ms
