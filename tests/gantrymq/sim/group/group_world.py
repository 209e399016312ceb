"""The world of a simulated group: virtual time, nodes with clocks of their own, and its story.

Everything that happens is an event at a true time; an event may belong to a node, and to one life
of a process on it. All chance comes from one seed, by one `Random` a concern, so that what one
concern draws does not move what another one meets.

    world.after(0.3, do)                    an actor outside of all nodes
    node.after(0.3, do, life)               by the node's clock, dropped when that life is over
    node.arrive(0.3, do, life)              by true time: what comes from outside

A paused node's events wait for its end, and its clocks run on, as with SIGSTOP; or its clocks stand
still as well, as those of a virtual machine that is suspended.

Invariant: the same seed gives the same events in the same order; `Story.digest` says so.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf, nextafter
from random import Random
from typing import Final, final

START_MS: Final = 1_700_000_000_000
STORY_LINES: Final = 300
TRAFFIC_LINES: Final = 80

# Behind this a clock would no longer be one: figures of quartz are a thousandth of it.
DRIFT_MAX: Final = 0.02

Do = Callable[[], None]


@final
class Story:
    """The last of what happened, to be read by people, and a digest of all of it."""

    __slots__ = ("_digest", "_lines", "_number", "_traffic")

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=8)
        self._lines: deque[tuple[int, float, str]] = deque(maxlen=STORY_LINES)
        self._traffic: deque[tuple[int, float, str]] = deque(maxlen=TRAFFIC_LINES)
        self._number = 0

    def tell(self, now: float, text: str, *, is_traffic: bool = False) -> None:
        self._number += 1
        self._digest.update(f"{now:.6f} {text}\n".encode())
        (self._traffic if is_traffic else self._lines).append((self._number, now, text))

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def __str__(self) -> str:
        lines = sorted([*self._lines, *self._traffic])
        return "\n".join(f"{now:9.4f}  {text}" for _, now, text in lines)


@final
class Life:
    """One life of a process: what was begun in it ends with it."""

    __slots__ = ("is_over",)

    def __init__(self) -> None:
        self.is_over = False


@final
class World:
    """Time, and what is to come."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now = 0.0
        self.steps = 0
        self.story = Story()
        self.tally: Counter[str] = Counter()
        self._events: list[tuple[float, int, Do, Place | None, Life | None]] = []
        self._number = 0

    def random(self, concern: str) -> Random:
        """A source of random numbers that this concern alone uses."""
        return Random(f"{self.seed} {concern}")

    def after(self, seconds: float, do: Do) -> None:
        self.push(self.now + seconds, do, None, None)

    def push(self, time: float, do: Do, place: Place | None, life: Life | None) -> None:
        self._number += 1
        heappush(self._events, (time, self._number, do, place, life))

    def tell(self, text: str) -> None:
        self.story.tell(self.now, text)

    def tell_traffic(self, text: str) -> None:
        self.story.tell(self.now, text, is_traffic=True)

    def run(self, until: float) -> None:
        """Everything that happens up to then."""
        events = self._events
        while events and events[0][0] <= until:
            time, _, do, place, life = heappop(events)
            self.now = max(self.now, time)
            if life is not None and life.is_over:
                continue
            if place is not None and place.is_paused:
                place.hold(do, life)
                continue
            self.steps += 1
            do()
        self.now = until


@final
class Place:
    """A machine: its number in the network, its clocks, and whether it stands still."""

    __slots__ = (
        "_held",
        "_offset",
        "_paused_until",
        "_rate",
        "_skew_ms",
        "_stopped_at",
        "clock_stood_until",
        "name",
        "number",
        "world",
    )

    def __init__(self, world: World, number: int, name: str, random: Random, drift: float) -> None:
        """`drift`: how far its clock may go wrong, a share of time."""
        assert 0.0 <= drift <= DRIFT_MAX
        self.world = world
        self.number = number
        self.name = name
        self._offset = random.uniform(1.0, 100_000.0)
        self._rate = 1.0 + random.uniform(-drift, drift)
        self._skew_ms = random.randrange(-2000, 2000)
        self._paused_until = 0.0
        self._stopped_at: float | None = None
        """Since when, by true time, its clocks stand still."""
        self.clock_stood_until = -inf
        """When, by its monotonic clock, they went on last."""
        self._held: list[tuple[Do, Life | None]] = []

    # ------------------------------------------------------------------ clocks

    @property
    def monotonic(self) -> float:
        return self._offset + self._time * self._rate

    @property
    def wall_ms(self) -> int:
        return START_MS + self._skew_ms + int(self._time * self._rate * 1000)

    @property
    def _time(self) -> float:
        return self.world.now if self._stopped_at is None else self._stopped_at

    def jump(self, milliseconds: int) -> None:
        """An administrator sets its wall clock."""
        self._skew_ms += milliseconds

    # ------------------------------------------------------------------ events

    def at(self, monotonic: float, do: Do, life: Life) -> None:
        """When its own clock shows this, and not less by what is lost in rounding."""
        time = (monotonic - self._offset) / self._rate
        while self._offset + time * self._rate < monotonic:  # by the same sum as `monotonic`
            time = nextafter(time, inf)
        self.world.push(time, do, self, life)

    def after(self, seconds: float, do: Do, life: Life | None) -> None:
        """So long by its own clock."""
        self.world.push(self.world.now + seconds / self._rate, do, self, life)

    def arrive(self, seconds: float, do: Do, life: Life | None) -> None:
        """From outside, so long by true time."""
        self.world.push(self.world.now + seconds, do, self, life)

    # ------------------------------------------------------------------ pauses

    @property
    def is_paused(self) -> bool:
        return self.world.now < self._paused_until

    def pause(self, seconds: float, *, stops_clocks: bool = False) -> None:
        """It stands still for so long; its clocks do not, unless that is said."""
        if stops_clocks and self._stopped_at is None:
            self._stopped_at = self.world.now
        until = self.world.now + seconds
        if until > self._paused_until:
            self._paused_until = until
            self.world.push(until, self._go_on, None, None)

    def wake(self) -> None:
        """It stands still no longer."""
        self._paused_until = self.world.now
        self._go_on()

    def hold(self, do: Do, life: Life | None) -> None:
        """For when it goes on."""
        self._held.append((do, life))

    def _go_on(self) -> None:
        if self.is_paused:
            return  # it was paused again meanwhile
        if self._stopped_at is not None:
            lost = self.world.now - self._stopped_at
            self._stopped_at = None
            self._offset -= lost * self._rate
            self._skew_ms -= int(lost * self._rate * 1000)
            self.clock_stood_until = self.monotonic
        held, self._held = self._held, []
        for do, life in held:
            self.world.push(self.world.now, do, self, life)
