"""Provides stores that are broken on purpose, each in one place, for histories to detect.

They are broken by replacing methods. Compiled callers do not look methods up, so where compiled
modules are in use this runs on their `.py` sources in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from gantrymq.base.errors import GantryError
from gantrymq.sim.store.store_history import run
from gantrymq.sim.store.store_script import script_of
from gantrymq.store.commitlog.flush import Flusher
from gantrymq.store.dispatch.dispatch import Dispatcher
from gantrymq.store.engine import Store
from gantrymq.store.files import checkpoint
from gantrymq.store.files.flush_positions import FlushPositions
from gantrymq.store.files.segments import Segments
from gantrymq.store.recovery.flush_coordinator import FlushCoordinator
from gantrymq.store.recovery.start_choice import StartChoice

# Each is detected by one of the first 500 histories today; the generator may change.
SEEDS = range(700)

PATCH = pytest.MonkeyPatch()


def _flush_counts_when_it_begins() -> None:
    start = Flusher.start

    def hasty(self: Flusher, now: float) -> None:
        start(self, now)
        self.flushed = self._target

    PATCH.setattr(Flusher, "start", hasty)


def _position_is_ahead_of_the_syncs(part: str) -> None:
    reached = FlushCoordinator._reached

    def ahead(self: FlushCoordinator) -> FlushPositions:
        positions = reached(self)
        if part == "log":
            return replace(positions, log=self._log.mark)
        if part == "queues":
            return replace(positions, queues=positions.log.position)
        return replace(positions, index=positions.log.position)

    PATCH.setattr(FlushCoordinator, "_reached", ahead)


def _recovery_leaves_out(step: str) -> None:
    PATCH.setattr(Segments, step, lambda *_: None)


def _consumers_see_what_is_not_on_disk() -> None:
    PATCH.setattr(Store, "readable", property(lambda store: store._dispatcher.position))


def _dispatch_shows_deleted_messages_again() -> None:
    PATCH.setattr(Dispatcher, "skip", lambda *_: None)


def _recovery_trusts_torn_units() -> None:
    take_over = StartChoice._load_queues
    PATCH.setattr(StartChoice, "_load_queues", lambda self, _, count=0: take_over(self, None))


def _start_takes_our_store_for_javas() -> None:
    PATCH.setattr(checkpoint, "are_told", lambda *_: False)


def _nothing() -> None:
    """Leave the store unbroken."""


WHOLE = "the store as it is"
BREAKS: dict[str, Callable[[], None]] = {
    WHOLE: _nothing,
    "a flush that counts when it begins": _flush_counts_when_it_begins,
    "the log's flush position ahead of the syncs": partial(_position_is_ahead_of_the_syncs, "log"),
    "the queues' flush position ahead of the syncs": partial(
        _position_is_ahead_of_the_syncs, "queues"
    ),
    "the index's flush position ahead of the syncs": partial(
        _position_is_ahead_of_the_syncs, "index"
    ),
    "a recovery that does not rewrite": partial(_recovery_leaves_out, "rewrite"),
    "a recovery that does not truncate": partial(_recovery_leaves_out, "truncate"),
    "a recovery that does not sync folders": partial(_recovery_leaves_out, "_sync_folder"),
    "consumers that see what is not on disk": _consumers_see_what_is_not_on_disk,
    "a dispatch that shows deleted messages again": _dispatch_shows_deleted_messages_again,
    "a start that takes our store for Java's": _start_takes_our_store_for_javas,
    "a recovery that trusts in what was torn": _recovery_trusts_torn_units,
}


def is_noticed(name: str, seeds: range = SEEDS) -> bool:
    """Break the store of this process; return whether a history fails."""
    BREAKS[name]()
    for seed in seeds:
        try:
            run(script_of(seed))
        except (AssertionError, GantryError):
            return True
    return False
