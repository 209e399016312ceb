"""Finishes the disk work of a broker's process after the time that its simulated disk takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from gantrymq.broker.core.messages import SaveFile
from gantrymq.sim.group.group_world import Do, Life
from gantrymq.sim.nodes.group_machine import Machine


@final
class DiskJobs:
    """The syncs, reads and file writes of one BrokerProcess, which owns it.

    While the disk is stuck, no job ends.
    """

    def __init__(
        self, machine: Machine, life: Life, enter: Callable[[Do], None], turn_soon: Do
    ) -> None:
        self._background = machine.background
        self._enter = enter
        self._files = machine.volume.files
        self._life = life
        self._pace = machine.pace
        self._place = machine.place
        self._random = machine.random
        self._started = 0
        self._turn_soon = turn_soon

    def begin(self) -> None:
        """Starts the jobs that the last turn gave the disk."""
        for ticket in self._background.asked_since(self._started):
            self._started = ticket
            self._finish_later(ticket)

    def save(self, save: SaveFile, written: Do) -> None:
        """Replaces the file later, and calls `written` once the file is on disk."""

        def end() -> None:
            if self._pace.is_stuck:
                later()
                return
            self._files[save.file.value] = save.content
            written()

        def later() -> None:
            self._place.arrive(self._sync_seconds(), lambda: self._enter(end), self._life)

        later()

    def _sync_seconds(self) -> float:
        pace, random = self._pace, self._random.random
        seconds = pace.sync_seconds * (0.3 + random())
        if pace.slow and random() < pace.slow:
            seconds += pace.slow_seconds * random()
        return seconds

    def _finish_later(self, ticket: int) -> None:
        seconds = self._sync_seconds()
        self._place.world.push(
            self._place.world.now + seconds,
            lambda: self._enter(lambda: self._finish(ticket)),
            None,
            self._life,
        )

    def _finish(self, ticket: int) -> None:
        if self._pace.is_stuck:
            self._finish_later(ticket)
            return
        self._background.complete(ticket)
        if self._place.is_paused:
            self._place.hold(self._turn_soon, self._life)
        else:
            self._turn_soon()
