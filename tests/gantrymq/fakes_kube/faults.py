"""Makes the simulated API server fail, as a test switches faults on and off while it runs."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import final


@final
@dataclass(slots=True)
class Faults:
    """What is wrong with the server now."""

    black_holes: set[str] = field(default_factory=set)
    """Namespaces whose requests are taken and never answered."""
    dropped_events: int = 0
    """So many of the next events reach no watch."""
    kill_after_writes: int | None = None
    """After so many more writes the client is dead: this write is done, but not answered, and no
    later request is served."""
    stale_lists: set[str] = field(default_factory=set)
    """Plurals whose next list shows nothing that was written since `Objects.freeze`."""
    throttled: int = 0
    """So many of the next requests are answered 429."""
    retry_after: str = "0"
    is_refusing: bool = False
    """Every request is answered 503."""
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By `VERB plural/name`: the status and the message of the answer."""
    list_refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By plural, or as `*/namespace`: the status and the message of the answer to a list."""
    killed: asyncio.Event = field(default_factory=asyncio.Event)


@final
@dataclass(slots=True)
class Calls:
    """What was asked of the server."""

    requests: Counter[str] = field(default_factory=Counter)
    """By `VERB plural`; watches as `WATCH plural`."""
    writes: list[str] = field(default_factory=list)
    """`VERB plural/namespace/name` of each write that changed something, Events left out."""

    swallowed: int = 0
    """Requests that went into a black hole."""

    def clear(self) -> None:
        self.requests.clear()
        self.writes.clear()
