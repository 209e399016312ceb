"""Tests topics whose old messages are hidden although the log has them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.base.errors import LocalError
from gantrymq.fakes.stores.store import SETTINGS, OpenedStore
from gantrymq.store.consumequeue.queue_times import Boundary
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.lookups import Bounds, offset_by_time, queue_bounds
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import PullQuery, PullStatus
from gantrymq.testing.faulty_disk import FaultyDisk

HOUR_MS = 3_600_000
KEPT_MS = 210_000
LOOK_SECONDS = SETTINGS.clean_resource_interval / 1000


def filled(disk: FaultyDisk | None = None) -> OpenedStore:
    """A store with ten messages of T and of U, one a minute; the clock is a minute after the
    last."""
    opened = OpenedStore(disk or FaultyDisk())
    for number in range(10):
        opened.put(number)
        opened.put(number, topic="U")
        opened.turn()
        opened.settle()
        opened.now += 60.0
    return opened


def look(opened: OpenedStore, seconds: float = 0.0) -> None:
    opened.turn(seconds)
    opened.settle()
    while opened.store.deadline() <= opened.now:
        opened.turn()
        opened.settle()


def has_failed(opened: OpenedStore) -> bool:
    return opened.store.ages.failure is not None


def bounds(opened: OpenedStore, topic: str = "T") -> Bounds | None:
    return run(queue_bounds(opened.store, topic, 0))


def status(opened: OpenedStore, offset: int) -> tuple[PullStatus, int]:
    answer = run(pull(opened.store, PullQuery("T", 0, offset, 32), 1 << 30))
    return answer.status, answer.next_offset


def test_messages_above_the_age_are_reported_as_deleted() -> None:
    opened = filled()
    opened.store.keep_topic("T", KEPT_MS)
    look(opened)
    assert bounds(opened) == Bounds(7, 10)
    assert bounds(opened, "U") == Bounds(0, 10)
    assert status(opened, 6) == (PullStatus.OFFSET_TOO_SMALL, 7)
    assert status(opened, 7) == (PullStatus.FOUND, 10)
    assert run(offset_by_time(opened.store, "T", 0, 0, Boundary.LOWER)) == 7


def test_floor_rises_until_no_message_is_left() -> None:
    opened = filled()
    opened.store.keep_topic("T", KEPT_MS)
    for minimum in (7, 8, 9, 10, 10):
        look(opened, LOOK_SECONDS)
        assert bounds(opened) == Bounds(minimum, 10)
        opened.now += 60.0 - LOOK_SECONDS
    assert status(opened, 10) == (PullStatus.OFFSET_OVERFLOW_ONE, 10)
    opened.put(10)
    look(opened)
    assert status(opened, 10) == (PullStatus.FOUND, 11)


def test_hidden_messages_stay_on_disk() -> None:
    opened = filled()
    opened.store.keep_topic("T", 1)
    for _ in range(5):
        look(opened, 100.0)
    files = opened.disk.list("consumequeue/T/0")
    assert [entry.name for entry in files] == [f"{0:020d}"]
    assert opened.store.log.start == 0


@pytest.mark.parametrize("is_clean", [True, False])
def test_age_set_again_after_a_restart_hides_the_same_messages(is_clean: bool) -> None:
    disk = FaultyDisk()
    opened = filled(disk)
    opened.store.keep_topic("T", KEPT_MS)
    look(opened)
    if is_clean:
        opened.close()
    again = OpenedStore(disk.kill())
    again.now = opened.now
    assert bounds(again) == Bounds(0, 10)
    again.store.keep_topic("T", KEPT_MS)
    look(again)
    assert bounds(again) == Bounds(7, 10)


@pytest.mark.parametrize(("age_ms", "minimum"), [(None, 0), (HOUR_MS, 0), (5 * 60_000, 5)])
def test_longer_age_shows_messages_again(age_ms: int | None, minimum: int) -> None:
    opened = filled()
    opened.store.keep_topic("T", KEPT_MS)
    look(opened)
    opened.store.keep_topic("T", age_ms)
    look(opened)
    assert bounds(opened) == Bounds(minimum, 10)


def test_clock_that_is_set_back_shows_no_message_again() -> None:
    opened = filled()
    opened.store.keep_topic("T", KEPT_MS)
    look(opened)
    opened.store.turn(opened.now + LOOK_SECONDS, 0)
    opened.settle()
    assert bounds(opened) == Bounds(7, 10)


def test_recreated_topic_starts_without_an_age() -> None:
    opened = filled()
    opened.store.keep_topic("T", 1)
    look(opened)
    opened.store.delete_topic("T")
    opened.turn()
    opened.put(1)
    look(opened, 100.0)
    assert bounds(opened) == Bounds(0, 1)


def test_event_loop_never_waits_for_the_disk() -> None:
    disk = FaultyDisk()
    opened = filled(disk)
    opened.close()
    disk = disk.kill()
    again = OpenedStore(disk, replace(SETTINGS, message_index_enable=False))
    again.now = opened.now
    disk.memory.cool()
    again.store.keep_topic("T", KEPT_MS)
    again.turn()
    assert again.background.jobs
    assert bounds(again) == Bounds(0, 10)
    again.settle()
    assert bounds(again) == Bounds(7, 10)


def test_failed_read_is_reported_and_repeated() -> None:
    disk = FaultyDisk()
    opened = filled(disk)
    opened.close()
    disk = disk.kill()
    again = OpenedStore(disk)
    again.now = opened.now
    disk.memory.cool()
    disk.fail("read", path="consumequeue/T/0/00000000000000000000")
    again.store.keep_topic("T", KEPT_MS)
    look(again)
    assert has_failed(again)
    assert bounds(again) == Bounds(0, 10)
    look(again, LOOK_SECONDS)
    assert not has_failed(again)
    assert bounds(again) == Bounds(7, 10)


def test_age_of_zero_is_refused() -> None:
    with pytest.raises(LocalError, match="cannot be kept for 0 ms"):
        filled().store.keep_topic("T", 0)
