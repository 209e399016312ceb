"""Tests histories of flushes of queues with power cuts and kills."""

from __future__ import annotations

import random

from hypothesis import example, given
from hypothesis import strategies as st

from gantrymq.fakes.stores.flushed_queues import (
    KILLED_IN_A_CUT,
    LIVES,
    SMALL_FILE_BYTES,
    Fixture,
    History,
    check_nothing_behind_the_ends,
)
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut


@given(st.integers(0, 1 << 32), LIVES)
@example(8109885, KILLED_IN_A_CUT)
def test_power_cuts_lose_no_unit_below_the_flush_position(
    seed: int, lives: list[tuple[list[tuple[str, int, bool]], int, bool, bool]]
) -> None:
    choices = random.Random(seed)
    history = History(choices)
    disk = FaultyDisk(choices.randrange)
    fixture = Fixture(disk, SMALL_FILE_BYTES)
    for steps, crash_after, is_ours, is_killed in lives:
        history.is_ours = is_ours
        disk.crash_at = disk.operations + crash_after
        try:
            history.write(fixture, steps)
            history.stop(fixture)
        except PowerCut:
            pass
        disk = disk.kill() if is_killed else disk.crash()
        fixture = history.recover(disk)
        history.check(fixture.queues)
    history.stop(fixture)
    history.check(fixture.queues)
    disk = disk.crash()  # a clean stop has synced everything
    reopened = Queues(disk, SMALL_FILE_BYTES)
    reopened.load(0)
    history.check(reopened)
    check_nothing_behind_the_ends(reopened, disk)
