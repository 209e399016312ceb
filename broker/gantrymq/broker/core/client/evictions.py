"""Makes room in the memory account for a heartbeat, by closing the connections that hold the most.

    the connection's own limit is reached           -> the heartbeat is refused
    the limit of its address or of the broker       -> the connection that holds the most memory, of
                                                       that address or of the address that holds the
                                                       most, is closed if it holds at least
                                                       MUCH_MORE times what this connection would;
                                                       otherwise the heartbeat is refused

So ordinary clients are served although a few clients use up the memory, and many similar clients do
not evict each other. Finding the largest connection scans all of them, so evictions run at most
once in EVICTION_SECONDS: a flood of refused heartbeats costs little more than the refusals.
"""

from __future__ import annotations

from typing import Final, cast

from gantrymq.base.memory_account import Kind, Overrun, Scope
from gantrymq.base.peer_address import counted_address
from gantrymq.broker.core.messages import Channel, CloseChannel
from gantrymq.broker.core.state import State

MUCH_MORE: Final = 16

# The most connections closed at a time: they release at most 32 MiB of heartbeats.
EVICTION_SECONDS: Final = 0.1
EVICTIONS_MAX: Final = 4


def overrun(state: State, channel: Channel, kind: Kind, more: int) -> Overrun | None:
    """Why this connection cannot have `more` bytes; None if there is room, after evictions if
    necessary."""
    found = state.memory.overrun(channel, kind, more)
    if found is None or state.now < state.next_eviction:
        return found
    state.next_eviction = state.now + EVICTION_SECONDS
    for _ in range(EVICTIONS_MAX):
        if not _evict(state, channel, more, found):
            return found
        found = state.memory.overrun(channel, kind, more)
        if found is None:
            return None
    return found


def _evict(state: State, channel: Channel, more: int, found: Overrun) -> bool:
    """Close the connection that holds the most. Returns False if none holds MUCH_MORE times what
    this connection would."""
    if found.scope is Scope.CONNECTION:
        return False
    memory = state.memory
    is_address = found.scope is Scope.ADDRESS
    largest = memory.largest(counted_address(channel.peer) if is_address else None)
    if largest is None or largest is channel:
        return False
    held = memory.held_for(largest)
    if held < MUCH_MORE * (memory.held_for(channel) + more):
        return False
    memory.write_off(largest)
    closed = cast("Channel", largest)  # all owners in a broker's memory account are channels
    state.effects.add(CloseChannel(closed, f"it holds {held} bytes of memory: {found.text}"))
    return True
