"""Describes the peer of a request for access control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(slots=True)
class Caller:
    """Where a request came from, and when.

    One is made for each request. A frozen dataclass would take three times as long; treat this as
    immutable.
    """

    peer: str
    """`ip:port` of the peer."""
    wall_ms: int = 0
    """Milliseconds since 1970, by the server's clock."""
    certificate_names: tuple[str, ...] = ()
    """The names in the peer's verified certificate: `CN:name`, `DNS:name`, `URI:name`..."""
    was_admitted: bool = False
    """Whether this same request was admitted before and is checked again because it had to wait."""
