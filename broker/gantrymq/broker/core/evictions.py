"""Room for what a heartbeat says: where there is none, the connections that hold the most are
closed in favour of it, or it is refused.

    the share of the connection itself is used up   -> refused
    that of its address, or of all together         -> the largest holder of that address, or of the
                                                       address that holds the most, is closed if it
                                                       holds MUCH_MORE times what this one would;
                                                       else refused

So ordinary clients are served though a few hold all that there is, and many that are alike do not
throw each other out. To find the largest the broker looks at all connections, hence not more often
than each EVICTION_SECONDS: a flood of refused heartbeats costs little more than its refusals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from gantrymq.base.memory_account import Kind, Overrun, Scope, address_of
from gantrymq.broker.core.messages import Channel, CloseChannel

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

MUCH_MORE: Final = 16

# At most as many at a time give back 32 MiB of heartbeats.
EVICTION_SECONDS: Final = 0.1
EVICTIONS_MAX: Final = 4


def overrun(state: State, channel: Channel, kind: Kind, more: int) -> Overrun | None:
    """Why so many bytes more are not kept for this connection; None where there is room, or has
    been made."""
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
    """Close the largest holder; whether there was one that holds much more than this one would."""
    if found.scope is Scope.CONNECTION:
        return False
    memory = state.memory
    is_address = found.scope is Scope.ADDRESS
    largest = memory.largest(address_of(channel.peer) if is_address else None)
    if largest is None or largest is channel:
        return False
    held = memory.held_for(largest)
    if held < MUCH_MORE * (memory.held_for(channel) + more):
        return False
    memory.write_off(largest)
    closed = cast("Channel", largest)  # the account of a broker knows nothing but its connections
    state.effects.add(CloseChannel(closed, f"it holds {held} bytes of memory: {found.text}"))
    return True
