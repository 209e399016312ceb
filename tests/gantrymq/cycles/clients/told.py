"""What all streams have told so far: into the ledger, and of one cycle by time."""

from __future__ import annotations

import time
from collections import Counter
from typing import Final, final

from gantrymq.cycles.clients.ledger import Ledger, identity
from gantrymq.cycles.clients.load import CONSUMERS, PRODUCERS, STREAMS, Load
from gantrymq.cycles.gaps import SECOND_NS
from gantrymq.cycles.records import Status

QUIET_NS: Final = SECOND_NS
"""A stream that brought nothing for so long is not at work."""


@final
class Told:
    """What the clients of one load were told. Call `take` often, `forget` before each cycle."""

    def __init__(self, load: Load, ledger: Ledger) -> None:
        self.failed: Counter[str] = Counter()
        """Exceptions, by producer."""
        self.other: Counter[str] = Counter()
        """Answers that are no SEND_OK, by their status."""
        self.times_ns: dict[str, list[int]] = {name: [] for name in STREAMS}
        """The times of all acknowledgements and deliveries, by stream."""
        self._ledger = ledger
        self._load = load

    def take(self) -> None:
        for producer in PRODUCERS:
            self._take_sends(producer)
        for consumer in CONSUMERS:
            times = self.times_ns[consumer]
            for record in self._load.take(consumer):
                message = identity(record.sender, record.number)
                self._ledger.give(consumer, record.queue, record.offset, message)
                times.append(record.at_ns)

    def _take_sends(self, producer: str) -> None:
        times = self.times_ns[producer]
        for record in self._load.take(producer):
            if record.status == Status.SEND_OK:
                message = identity(record.sender, record.number)
                self._ledger.acknowledge(record.queue, record.offset, message)
                times.append(record.at_ns)
            elif record.status == Status.EXCEPTION:
                self.failed[producer] += 1
            else:
                self.other[Status(record.status).name] += 1

    def forget(self) -> None:
        """All but the last second: what follows is of a new cycle."""
        since = time.monotonic_ns() - SECOND_NS
        for name, times in self.times_ns.items():
            self.times_ns[name] = [each for each in times if each > since]
        self.failed.clear()
        self.other.clear()

    @property
    def silent(self) -> list[str]:
        """Which streams are not at work."""
        since = time.monotonic_ns() - QUIET_NS
        return [name for name, times in self.times_ns.items() if not times or times[-1] < since]

    def acknowledgements(self) -> list[int]:
        """The times of the acknowledgements of all producers."""
        return [each for producer in PRODUCERS for each in self.times_ns[producer]]
