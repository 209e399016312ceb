"""Delayed messages and timers: each comes, and again only where no file had said that it came.

delayOffset.json says how far a level has come, timerOffset.json which second is delivered, as far
as the kill could not take it: what lies before stays delivered.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from gantrymq.crash.link import Found, Link
from gantrymq.crash.roles.role import file_of, table_of

TOPIC: Final = "Later"
LEVEL: Final = 1
DELAY_MS: Final = 1000
UNSETTLED_SHOWN: Final = 3


@final
@dataclass(slots=True)
class _Waiter:
    """One that was acknowledged. `kills`: how many of them found it not safely delivered."""

    offset: int
    is_timer: bool
    kills: int = 0


@final
@dataclass(slots=True)
class _Came:
    """What came of one body."""

    count: int = 0
    timer_second: int = -1
    places: list[int] = field(default_factory=list)


@final
class Waiting:
    """Sends messages with a delivery time."""

    def __init__(self) -> None:
        self.name = "messages for later"
        self.faults: list[str] = []
        self.figures: Counter[str] = Counter()
        self._numbers = itertools.count()
        self._waiting: dict[str, _Waiter] = {}
        self._came: dict[str, _Came] = {}
        self._seen = 0
        self._kills: list[tuple[int, int, int]] = []

    def prepare(self, link: Link) -> None:
        link.create_topic(TOPIC)

    def play(self, link: Link) -> None:
        while True:
            number = next(self._numbers)
            is_timer = number % 2 == 1
            said: dict[str, object] = {"TIMER_DELAY_MS": DELAY_MS} if is_timer else {"DELAY": LEVEL}
            place = link.send(TOPIC, f"later/{number}", said)
            if place is None:
                self.faults.append(f"{self.name}: {number} was refused")
                continue
            self.figures["delayed messages acknowledged"] += 1
            self._waiting[f"later/{number}"] = _Waiter(place.offset, is_timer)
            if number % 16 == 0:
                self._look(link)

    def _look(self, link: Link) -> None:
        """What has come since the last look."""
        for each in link.queue(TOPIC, first=self._seen):
            self._seen = each.offset + 1
            self._note(each)

    def _note(self, each: Found) -> None:
        came = self._came.setdefault(each.body, _Came())
        came.count += 1
        came.timer_second = int(each.properties.get("TIMER_OUT_MS", "-1000")) // 1000
        came.places.append(each.position)

    def killed(self, config: Path) -> None:
        level = table_of(config, "delayOffset.json", "offsetTable").get(str(LEVEL), 0)
        timers = file_of(config, "timerOffset.json")
        delivered, taken = (int(str(timers.get(name, 0))) for name in ("delivered", "taken"))
        self._kills.append((int(str(level)), delivered, taken))
        for body, waiter in self._waiting.items():
            came = self._came.get(body)
            if not waiter.is_timer:
                is_done = waiter.offset < int(str(level))
            else:
                second = -1 if came is None else came.timer_second
                is_done = 0 <= second <= delivered and waiter.offset < taken
            waiter.kills += not is_done

    def revived(self, link: Link) -> None:
        """What comes again comes in its time."""

    def settle(self, link: Link) -> bool:
        self._look(link)
        return self._waiting.keys() <= self._came.keys()

    def judge(self, link: Link) -> None:
        self._look(link)
        missing = [body for body in self._waiting if body not in self._came]
        if missing:
            self.faults.append(
                f"{self.name}: {len(missing)} never came: {missing[:UNSETTLED_SHOWN]}"
            )
        for body, came in self._came.items():
            waiter = self._waiting.get(body)
            if waiter is None:
                continue  # its sender never knew whether it was there
            again = came.count - 1
            self.figures["repeats of timers" if waiter.is_timer else "repeats of levels"] += again
            if again > waiter.kills:
                self.faults.append(
                    f"{self.name}: {body} came {came.count} times, and {waiter.kills} kills found"
                    f" it not safely delivered: {waiter}, at {came.places}, {self._kills}"
                )
