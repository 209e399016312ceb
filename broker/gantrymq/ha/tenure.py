"""How long a master may acknowledge after it renewed its lease, and whose promises make it longer.

By the lease alone AUTHORITY_SECONDS, from when the last renewal that succeeded was *sent*. While
the lease cannot be reached, as long from when the question was sent that all who could be elected
have answered with the promise not to seek it.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.ha.in_sync import InSync
from gantrymq.ha.lease import AUTHORITY_SECONDS, RENEW_SECONDS, Lease
from gantrymq.ha.place import Place

# A renewal that is so late is not waited for: promises are asked for.
ASK_AFTER_SECONDS: Final = RENEW_SECONDS + 0.4

NEVER: Final = float("inf")


@final
class Tenure:
    """Of one member, while it is master."""

    __slots__ = ("_place", "_renewed_at")

    def __init__(self, place: Place) -> None:
        self._place = place
        self._renewed_at = -NEVER

    def renew(self, sent_at: float) -> None:
        """The lease is ours by a write that was sent then."""
        self._renewed_at = sent_at

    def end(self) -> None:
        """It is not."""
        self._renewed_at = -NEVER

    @property
    def asks_at(self) -> float:
        """From when on promises are asked for."""
        return self._renewed_at + ASK_AFTER_SECONDS

    def ends_at(self, promised_since: float | None) -> float:
        """Until when we may acknowledge, with promises that were asked for then."""
        since = self._renewed_at
        return max(since, promised_since or since) + AUTHORITY_SECONDS

    def must_promise(self, lease: Lease, in_sync: InSync) -> frozenset[int] | None:
        """Who has to promise for us to go on without the lease; None: nobody's promise helps."""
        me, configured = self._place.number, self._place.configured
        others = in_sync.electable - {me}
        is_alone = not (in_sync.persisted - {me})
        if lease.wishes.allows_unclean:
            return None if is_alone else (configured | others) - {me}
        return (configured | others) - {me} if is_alone else others
