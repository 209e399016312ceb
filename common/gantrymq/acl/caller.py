"""The peer of a request, as access control sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(slots=True)
class Caller:
    """Where a request came from, and when.

    Made for each request, and a frozen one takes three times as long; treat it as a value.
    """

    peer: str
    """`ip:port` of the other end."""
    wall_ms: int = 0
    """Milliseconds since 1970, by the server's clock."""
    certificate_names: tuple[str, ...] = ()
    """What the peer's verified certificate is called: `CN:name`, `DNS:name`, `URI:name`..."""
    was_admitted: bool = False
    """Whether this very request was let in before, and comes again because it had to wait."""
