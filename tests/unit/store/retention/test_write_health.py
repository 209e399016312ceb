"""Tests what stops the writes of a store, and when they resume."""

from __future__ import annotations

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.fakes.stores.store import SETTINGS, SYNC, OpenedStore
from gantrymq.store.append.replica_appender import CopyRefused
from gantrymq.store.commitlog.log_refusal import BELIEVED_SECONDS
from gantrymq.store.consumequeue.queue_flush import UNWRITTEN_BYTES_MAX
from gantrymq.store.dispatch.deletions import Deletions
from gantrymq.store.dispatch.dispatch_notifier import DispatchNotifier
from gantrymq.store.record.put_status import PutStatus, Refused
from gantrymq.store.recovery.flush_coordinator import FlushCoordinator
from gantrymq.store.retention.disk_watch import LOOK_SECONDS
from gantrymq.store.retention.write_health import NOT_OPEN, STUCK_SECONDS, WriteHealth
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_disk import MemoryDisk

FULL = DiskError(DiskFailure.NO_SPACE, "write", "consumequeue/T/0")
BROKEN = DiskError(DiskFailure.BROKEN, "write", "consumequeue/T/0")
REFUSED = Refused(PutStatus.SERVICE_NOT_AVAILABLE, "the log is not written")


class Watched:
    """The write health of an open store, whose parts fail on request."""

    def __init__(self, settings: StoreSettings = SETTINGS) -> None:
        self.disk = MemoryDisk()
        self.opened = OpenedStore(self.disk, settings)
        store = self.opened.store
        self.notifier, self.deletions, self.queues = store._notifier, store._deletions, store.queues
        assert store._flushes is not None
        self.flushes: FlushCoordinator = store._flushes
        self.watch = store.watch
        self.health = WriteHealth(store.log, self.queues, self.notifier, self.deletions, self.watch)
        self.health.opened(self.flushes)

    def text(self) -> str:
        """The reason why writes are refused now; "" if they are accepted."""
        refused = self.health.to_writing()
        if refused is None:
            return ""
        assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
        return refused.text

    def turn(self, now: float, *, is_copy: bool = False) -> str | None:
        """Run a turn; return the trouble after it."""
        self.health.turn(now, is_copy=is_copy)
        return self.health.trouble(now)


# ---------------------------------------------------------------------- what there is


def test_healthy_store_refuses_nothing() -> None:
    watched = Watched()
    assert not watched.text()
    assert watched.health.refusal() is None
    assert watched.turn(0.0) is None


def test_closed_store_refuses_writes() -> None:
    watched = Watched()
    watched.health.closed()
    assert watched.health.to_writing() is watched.health.refusal() is NOT_OPEN
    assert watched.health.stall(0.0) == watched.health.trouble(0.0) == "the store is not open"


def test_unwritable_queues_stop_writes_until_they_recover() -> None:
    watched = Watched()
    watched.notifier.failure = BROKEN
    assert f"Queues cannot be written: {BROKEN}" in watched.text()
    watched.notifier.failure = None
    assert not watched.text()
    watched.deletions.failure = BROKEN
    assert f"Queues cannot be written: {BROKEN}" in watched.text()
    assert watched.text() == watched.health.trouble(0.0)


def test_too_many_unwritten_units_stop_writes() -> None:
    watched = Watched()
    watched.flushes.failure = BROKEN
    watched.queues.unwritten_bytes = 2 * UNWRITTEN_BYTES_MAX
    assert not watched.text(), "they wait in memory"
    watched.queues.unwritten_bytes += 1
    assert str(BROKEN) in watched.text()
    watched.flushes.failure = None
    assert "the disk does not answer" in watched.text()


def test_a_sync_that_takes_long_is_a_stall() -> None:
    watched = Watched(SYNC)
    watched.opened.put(1)
    watched.opened.turn()
    assert watched.health.stall(STUCK_SECONDS - 0.1) is None
    stall = watched.health.stall(STUCK_SECONDS)
    assert stall == "a sync of the log has been under way for 2.0 s"
    assert watched.health.trouble(STUCK_SECONDS) == stall
    assert not watched.text(), "messages may be put"


# ---------------------------------------------------------------------- the log


def test_log_that_refused_a_write_is_trouble_and_is_tried_again() -> None:
    watched = Watched()
    watched.health.note(REFUSED, 0.0)
    assert not watched.text()
    assert watched.health.refusal() is REFUSED
    assert watched.health.trouble(0.0) == REFUSED.text
    watched.health.note(None, 0.0)
    assert watched.health.refusal() is None


def test_log_that_refused_a_write_triggers_a_disk_check() -> None:
    watched = Watched()
    watched.turn(0.0)
    assert watched.watch.deadline() == LOOK_SECONDS
    watched.health.note(REFUSED, 0.0)
    assert watched.watch.deadline() < 0.0


def test_diverged_copy_is_no_disk_trouble() -> None:
    watched = Watched()
    watched.health.note_copy(CopyRefused("no space", is_diverged=False), 0.0)
    assert watched.health.trouble(0.0) == "no space"
    watched.health.note_copy(CopyRefused("another log", is_diverged=True), 0.0)
    assert watched.health.trouble(0.0) is None
    watched.health.note_copy(CopyRefused("no space", is_diverged=False), 0.0)
    watched.health.note_copy(None, 0.0)
    assert watched.health.trouble(0.0) is None


def test_role_change_clears_the_refusal_of_the_log() -> None:
    watched = Watched()
    watched.health.note(REFUSED, 0.0)
    watched.health.forget(0.0)
    assert watched.health.refusal() is None


def test_slave_trusts_its_disk_again_after_a_while() -> None:
    for is_copy in (True, False):
        watched = Watched()
        watched.health.note(REFUSED, 0.0)
        assert watched.turn(BELIEVED_SECONDS - 0.1, is_copy=is_copy) == REFUSED.text
        trouble = watched.turn(BELIEVED_SECONDS, is_copy=is_copy)
        assert trouble == (None if is_copy else REFUSED.text)


def test_slave_without_space_trusts_its_disk_once_it_has_space() -> None:
    watched = Watched()
    full, watched.disk.total_bytes = watched.disk.total_bytes, 0
    watched.health.note(REFUSED, 0.0)
    assert watched.turn(0.0, is_copy=True) is not None
    watched.disk.total_bytes = full
    assert watched.turn(LOOK_SECONDS, is_copy=True) is None


# ---------------------------------------------------------------------- space


@pytest.mark.parametrize("part", ["notifier", "deletions", "flushes"])
def test_units_without_space_release_the_reserve(part: str) -> None:
    watched = Watched()
    parts: dict[str, DispatchNotifier | Deletions | FlushCoordinator] = {
        "notifier": watched.notifier,
        "deletions": watched.deletions,
        "flushes": watched.flushes,
    }
    parts[part].failure = BROKEN
    watched.turn(0.0)
    assert watched.watch.refusal() is None, "it is not for want of space"
    parts[part].failure = FULL
    watched.turn(0.0)
    parts[part].failure = None
    assert "gantry/reserve" in watched.text()
