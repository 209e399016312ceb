"""Stores that are broken on purpose, each in one place: the histories notice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.base.errors import GantryError
from gantrymq.sim.store_history import run
from gantrymq.sim.store_script import script_of
from gantrymq.store import checkpoint
from gantrymq.store.dispatch import Dispatcher
from gantrymq.store.engine import Store
from gantrymq.store.flush import Flusher
from gantrymq.store.marks import Marks
from gantrymq.store.persistence import Persistence
from gantrymq.store.recovery import Recovery
from gantrymq.store.segments import Segments

# Each is noticed by one of the first 40 today; the generator may change.
SEEDS = range(300)


def is_noticed() -> bool:
    for seed in SEEDS:
        try:
            run(script_of(seed))
        except (AssertionError, GantryError):
            return True
    return False


def test_a_flush_that_counts_when_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Flusher.start

    def hasty(self: Flusher, now: float) -> None:
        start(self, now)
        self.flushed = self._target

    monkeypatch.setattr(Flusher, "start", hasty)
    assert is_noticed()


@pytest.mark.parametrize("part", ["log", "queues", "index"])
def test_a_mark_that_is_ahead_of_the_syncs(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    reached = Persistence._reached

    def ahead(self: Persistence) -> Marks:
        marks = reached(self)
        if part == "log":
            return replace(marks, log=self._log.mark)
        if part == "queues":
            return replace(marks, queues=marks.log.position)
        return replace(marks, index=marks.log.position)

    monkeypatch.setattr(Persistence, "_reached", ahead)
    assert is_noticed()


@pytest.mark.parametrize("step", ["rewrite", "truncate", "_sync_folder"])
def test_a_recovery_that_leaves_a_step_out(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(Segments, step, lambda *_: None)
    assert is_noticed()


def test_consumers_that_see_what_is_not_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "readable", property(lambda store: store._dispatcher.position))
    assert is_noticed()


def test_a_dispatch_that_shows_deleted_messages_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dispatcher, "skip", lambda *_: None)
    assert is_noticed()


def test_a_start_that_takes_our_store_for_javas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "are_told", lambda *_: False)
    assert is_noticed()


def test_a_recovery_that_trusts_in_what_was_torn(monkeypatch: pytest.MonkeyPatch) -> None:
    take_over = Recovery._load_queues
    monkeypatch.setattr(Recovery, "_load_queues", lambda self, _, count=0: take_over(self, None))
    assert is_noticed()
