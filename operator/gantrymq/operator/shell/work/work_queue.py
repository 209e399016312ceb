"""Decides which key runs next: it coalesces events, runs each key serially, and backs off.

State of a key:

| state | a `put` | `done` |
|---|---|---|
| absent | becomes waiting | - |
| waiting | keeps the earlier time | - |
| running | is remembered | waiting again shortly if remembered, else at the requested time |

A key is in the queue once, however often it is put. A key that fails waits longer each time. An
event may shorten that wait to a second, but not to zero, because a broken cluster may cause many
events. Each lane limits its running keys, so bulk work cannot delay the urgent lane.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol, TypeAlias, final

BACKOFF_SECONDS_MIN: Final = 0.2
BACKOFF_SECONDS_MAX: Final = 300.0
# A reconciliation causes events itself; one run handles all events of a burst.
COALESCE_SECONDS: Final = 0.1
# How soon an event may bring back a key that fails.
FAILING_SECONDS_MIN: Final = 1.0
_EXPONENT_MAX: Final = 12

Key: TypeAlias = tuple[str, str, str]
"""The kind of work, the namespace and the name."""


class QueueLane(Enum):
    """The lane of a key. Keys of different lanes do not wait for each other."""

    URGENT = "urgent"
    BULK = "bulk"


# A reconciliation mostly waits for the API; a stuck cluster keeps one of these busy for seconds.
LIMITS: Final[Mapping[QueueLane, int]] = {QueueLane.URGENT: 16, QueueLane.BULK: 8}


class Jitter(Protocol):
    """A source of randomness, which tests replace."""

    def uniform(self, a: float, b: float) -> float: ...


@final
@dataclass(slots=True)
class _Entry:
    lane: QueueLane
    due_at: float
    is_running: bool = False
    is_put_again: bool = False
    failures: int = 0
    order: int = 0
    """The valid record of this entry in the heap; earlier ones are stale."""


@final
@dataclass(slots=True)
class _LaneState:
    limit: int
    running: int = 0
    heap: list[tuple[float, int, Key]] = field(default_factory=list)


@final
class WorkQueue:
    """The keys of one operator. Callers pass the time, and no method waits."""

    def __init__(self, jitter: Jitter, limits: Mapping[QueueLane, int] = LIMITS) -> None:
        self._entries: dict[Key, _Entry] = {}
        self._jitter = jitter
        self._lanes = {lane: _LaneState(limit) for lane, limit in limits.items()}
        self._orders = 0

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, key: Key, lane: QueueLane, now: float, delay: float = 0.0) -> None:
        """Run this key after `delay`, or earlier if it was put for an earlier time."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(lane, now + delay)
            self._schedule(key, entry)
            return
        if entry.is_running:
            entry.is_put_again = True
            return
        pause = max(delay, FAILING_SECONDS_MIN) if entry.failures else delay
        if now + pause < entry.due_at:
            entry.due_at = now + pause
            self._schedule(key, entry)

    def take(self, now: float) -> Iterator[Key]:
        """Yield the keys to run now. Each counts as running until `done`."""
        for lane in self._lanes.values():
            while lane.running < lane.limit and self._is_due(lane, now):
                _, _, key = heapq.heappop(lane.heap)
                self._entries[key].is_running = True
                lane.running += 1
                yield key

    def done(self, key: Key, now: float, again_after: float | None) -> None:
        """Note that a key has run. It runs again after this time; None forgets the key."""
        entry = self._finish(key)
        entry.failures = 0
        if entry.is_put_again:
            again_after = COALESCE_SECONDS
        if again_after is None:
            del self._entries[key]
            return
        self._wait(key, entry, now + again_after)

    def failed(self, key: Key, now: float, at_least: float = 0.0) -> float:
        """Note that a key failed; return the seconds until it runs again."""
        entry = self._finish(key)
        exponent = min(entry.failures, _EXPONENT_MAX)
        entry.failures += 1
        backoff = min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS_MIN * 2.0**exponent)
        pause = max(at_least, backoff * self._jitter.uniform(0.5, 1.0))
        if entry.is_put_again:
            pause = min(pause, max(at_least, FAILING_SECONDS_MIN))
        self._wait(key, entry, now + pause)
        return pause

    # ------------------------------------------------------------------ figures

    def next_due(self) -> float | None:
        """Return when `take` has a key; None if not before a `put` or `done`."""
        times = []
        for lane in self._lanes.values():
            self._drop_stale(lane)
            if lane.heap and lane.running < lane.limit:
                times.append(lane.heap[0][0])
        return min(times, default=None)

    def oldest_lateness(self, now: float) -> float:
        """Return by how much the most overdue key is late."""
        late = 0.0
        for lane in self._lanes.values():
            self._drop_stale(lane)
            if lane.heap:
                late = max(late, now - lane.heap[0][0])
        return late

    def depths(self, now: float) -> Mapping[tuple[QueueLane, str], int]:
        """Return the number of running, due, delayed and failing keys of each lane."""
        counts = {
            (lane, state): 0
            for lane in self._lanes
            for state in ("running", "due", "delayed", "failing")
        }
        for entry in self._entries.values():
            if entry.is_running:
                state = "running"
            elif entry.due_at <= now:
                state = "due"
            else:
                state = "failing" if entry.failures else "delayed"
            counts[(entry.lane, state)] += 1
        return counts

    # ------------------------------------------------------------------ the heaps

    def _finish(self, key: Key) -> _Entry:
        entry = self._entries[key]
        assert entry.is_running
        entry.is_running = False
        self._lanes[entry.lane].running -= 1
        return entry

    def _wait(self, key: Key, entry: _Entry, due_at: float) -> None:
        entry.is_put_again = False
        entry.due_at = due_at
        self._schedule(key, entry)

    def _schedule(self, key: Key, entry: _Entry) -> None:
        self._orders += 1
        entry.order = self._orders
        heapq.heappush(self._lanes[entry.lane].heap, (entry.due_at, entry.order, key))

    def _is_due(self, lane: _LaneState, now: float) -> bool:
        self._drop_stale(lane)
        return bool(lane.heap) and lane.heap[0][0] <= now

    def _drop_stale(self, lane: _LaneState) -> None:
        """Remove stale records from the top. A key that is rescheduled leaves one in the heap."""
        while lane.heap:
            _, order, key = lane.heap[0]
            entry = self._entries.get(key)
            if entry is not None and entry.order == order:
                return
            heapq.heappop(lane.heap)
