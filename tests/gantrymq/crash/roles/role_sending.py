"""Plain sends to one queue, many under way at once, each message once and in its order."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final, final

from gantrymq.crash.link import Found, Link, Stored, stored

TOPIC: Final = "Plain"
UNDER_WAY_MAX: Final = 24


@final
class Sending:
    """Sends to one queue."""

    def __init__(self, queue_id: int) -> None:
        self.name = f"sends to queue {queue_id}"
        self.faults: list[str] = []
        self.figures: Counter[str] = Counter()
        self._queue_id = queue_id
        self._numbers = itertools.count()
        self._sent = 0
        self._stored: dict[int, Stored] = {}

    def prepare(self, link: Link) -> None:
        link.create_topic(TOPIC, 4)

    def play(self, link: Link) -> None:
        under_way: deque[int] = deque()
        while True:
            while len(under_way) < UNDER_WAY_MAX:
                number = next(self._numbers)
                self._sent = number + 1
                under_way.append(number)
                link.begin_send(TOPIC, f"{self._queue_id}/{number}", queue_id=self._queue_id)
            answer = link.answer()
            place = stored(answer)
            number = under_way.popleft()
            if place is None:
                self.faults.append(f"{self.name}: {number} was refused: {answer.remark}")
                continue
            self.figures["messages acknowledged"] += 1
            self._stored[number] = place

    def killed(self, config: Path) -> None:
        """No file says anything about it."""

    def revived(self, link: Link) -> None:
        """All is judged in the end."""

    def settle(self, link: Link) -> bool:
        return True

    def judge(self, link: Link) -> None:
        found = list(link.queue(TOPIC, self._queue_id))
        self.faults += self._compared(found)

    def _compared(self, found: list[Found]) -> Iterable[str]:
        numbers = [int(each.body.partition("/")[2]) for each in found]
        by_number = dict(zip(numbers, found, strict=True))
        for number, place in self._stored.items():
            each = by_number.get(number)
            if each is None:
                yield f"{self.name}: {number}, acknowledged at {place.offset}, is lost"
            elif (each.queue_id, each.offset, each.position) != (
                (place.queue_id, place.offset, place.position)
            ):
                yield f"{self.name}: {number} is at {each.offset}, not where {place} says"
        if numbers != sorted(set(numbers)):
            yield f"{self.name}: some are twice, or not in the order they were sent in"
        if [each.offset for each in found] != list(range(len(found))):
            yield f"{self.name}: the queue's offsets have gaps"
        if any(not 0 <= number < self._sent for number in numbers):
            yield f"{self.name}: there is a message that no role sent"
