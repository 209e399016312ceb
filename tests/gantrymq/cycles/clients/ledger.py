"""What was acknowledged, and what consumers were given, by queue and offset.

A message is its sender's number and its own in 40 bits, so a million of them take eight megabytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, final

NOTHING: Final = -1
OFFSET_MAX: Final = 10_000_000
TOLD_MAX: Final = 20


def identity(sender: int, number: int) -> int:
    return sender << 32 | number


def name(message: int) -> str:
    return "nothing" if message == NOTHING else f"{message >> 32}-{message & 0xFFFFFFFF}"


@final
class Places:
    """Which message is said to be where."""

    def __init__(self, queues: int) -> None:
        self._queues = [array("q") for _ in range(queues)]

    def put(self, queue: int, offset: int, message: int) -> int:
        """What was said of this place before."""
        assert 0 <= offset < OFFSET_MAX, offset
        places = self._queues[queue]
        if offset >= len(places):
            places.extend([NOTHING] * (offset + 1 - len(places)))
        before = places[offset]
        places[offset] = message
        return before

    def at(self, queue: int, offset: int) -> int:
        places = self._queues[queue]
        return places[offset] if offset < len(places) else NOTHING

    def all(self) -> Iterator[tuple[int, int, int]]:
        """Queue, offset, message."""
        for queue, places in enumerate(self._queues):
            for offset, message in enumerate(places):
                if message != NOTHING:
                    yield queue, offset, message

    def missing(self, other: Places) -> Iterator[str]:
        """What is here, and not there."""
        for queue, offset, message in self.all():
            if (there := other.at(queue, offset)) != message:
                yield f"{name(message)} at {queue}:{offset}, where {name(there)} is"


@final
class Ledger:
    """The acknowledged and the delivered messages of one group."""

    def __init__(self, queues: int, consumers: tuple[str, ...]) -> None:
        self.acknowledged = Places(queues)
        self.count = 0
        self.doubles: list[str] = []
        """Offsets that two messages were promised."""
        self.given = {consumer: Places(queues) for consumer in consumers}

    def acknowledge(self, queue: int, offset: int, message: int) -> None:
        self.count += 1
        before = self.acknowledged.put(queue, offset, message)
        if before != NOTHING:
            self.doubles.append(f"{name(before)} and {name(message)} at {queue}:{offset}")

    def give(self, consumer: str, queue: int, offset: int, message: int) -> None:
        before = self.given[consumer].put(queue, offset, message)
        if before not in (NOTHING, message):
            told = f"{consumer} was given {name(before)} and {name(message)}"
            self.doubles.append(f"{told} at {queue}:{offset}")
