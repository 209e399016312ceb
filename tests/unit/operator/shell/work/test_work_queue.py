"""Tests the order, the waits and the limits of the work queue."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.operator.shell.work.work_queue import (
    BACKOFF_SECONDS_MAX,
    COALESCE_SECONDS,
    FAILING_SECONDS_MIN,
    Key,
    QueueLane,
    WorkQueue,
)


class NoJitter:
    def uniform(self, a: float, b: float) -> float:
        del a
        return b


def key(name: str) -> Key:
    return "clusters", "one", name


def queue(urgent: int = 2, bulk: int = 1) -> WorkQueue:
    return WorkQueue(NoJitter(), {QueueLane.URGENT: urgent, QueueLane.BULK: bulk})


def put(work: WorkQueue, name: str, now: float = 0, delay: float = 0) -> None:
    work.put(key(name), QueueLane.URGENT, now, delay)


def taken(work: WorkQueue, now: float) -> list[str]:
    return [name for _, _, name in work.take(now)]


def test_a_key_that_is_put_often_runs_once() -> None:
    work = queue()
    for _ in range(5):
        put(work, "a")

    assert taken(work, 0) == ["a"]
    assert taken(work, 0) == []


def test_keys_are_taken_in_the_order_in_which_they_fell_due() -> None:
    work = queue(urgent=9)
    put(work, "late", delay=3)
    put(work, "soon", delay=1)
    put(work, "now")

    assert taken(work, 5) == ["now", "soon", "late"]


def test_a_delayed_key_waits_for_its_time() -> None:
    work = queue()
    put(work, "a", delay=5)

    assert taken(work, 4.9) == []
    assert work.next_due() == 5
    assert taken(work, 5) == ["a"]


def test_the_earlier_of_two_times_counts() -> None:
    work = queue()
    put(work, "a", delay=5)
    put(work, "a", delay=1)
    put(work, "a", delay=9)

    assert taken(work, 1) == ["a"]
    assert taken(work, 9) == []


def test_a_key_never_runs_twice_at_once_but_again_afterwards() -> None:
    work = queue()
    put(work, "a")
    assert taken(work, 0) == ["a"]
    put(work, "a")

    assert taken(work, 0) == []
    work.done(key("a"), 1, None)

    assert taken(work, 1) == []
    assert taken(work, 1 + COALESCE_SECONDS) == ["a"]


def test_a_key_without_a_next_run_is_forgotten() -> None:
    work = queue()
    put(work, "a")
    taken(work, 0)

    work.done(key("a"), 1, None)

    assert len(work) == 0
    assert work.next_due() is None


def test_a_key_runs_again_at_the_requested_time() -> None:
    work = queue()
    put(work, "a")
    taken(work, 0)

    work.done(key("a"), 1, 60)

    assert work.next_due() == 61


def test_a_key_that_fails_waits_longer_each_time() -> None:
    work = queue()
    put(work, "a")
    now, pauses = 0.0, []
    for _ in range(14):
        assert taken(work, now) == ["a"]
        pauses.append(work.failed(key("a"), now))
        now += pauses[-1]

    assert pauses[:4] == pytest.approx([0.2, 0.4, 0.8, 1.6])
    assert pauses[-1] == BACKOFF_SECONDS_MAX
    assert pauses == sorted(pauses)


def test_success_ends_the_backoff() -> None:
    work = queue()
    put(work, "a")
    for now in (0.0, 10.0, 20.0):
        taken(work, now)
        work.failed(key("a"), now)
    taken(work, 30)
    work.done(key("a"), 30, 0)
    taken(work, 30)

    assert work.failed(key("a"), 30) == pytest.approx(0.2)


def test_a_pause_that_the_api_demands_is_kept() -> None:
    work = queue()
    put(work, "a")
    taken(work, 0)

    assert work.failed(key("a"), 0, at_least=30) == 30


def test_an_event_shortens_the_wait_of_a_failing_key_but_not_to_nothing() -> None:
    work = queue()
    put(work, "a")
    for now in (0.0, 10.0, 20.0, 30.0, 40.0, 50.0):
        taken(work, now)
        work.failed(key("a"), now)

    put(work, "a", now=50)

    assert work.next_due() == 50 + FAILING_SECONDS_MIN


def test_lanes_do_not_wait_for_each_other() -> None:
    work = queue(urgent=1, bulk=1)
    for name in ("t1", "t2"):
        work.put(("topics", "one", name), QueueLane.BULK, 0)
    put(work, "a")
    put(work, "b")

    assert taken(work, 0) == ["a", "t1"]
    work.done(("topics", "one", "t1"), 0, None)

    assert taken(work, 0) == ["t2"]


def test_a_stuck_key_leaves_the_other_places_of_its_lane() -> None:
    work = queue(urgent=2)
    for name in "abcdef":
        put(work, name)
    assert taken(work, 0) == ["a", "b"]

    seen: list[str] = []
    for now in range(1, 5):
        work.done(key(seen[-1] if seen else "b"), now, None)
        seen += taken(work, now)

    assert seen == ["c", "d", "e", "f"]


def test_lateness_is_that_of_the_longest_waiting_key() -> None:
    work = queue(urgent=1)
    put(work, "a")
    put(work, "b", delay=2)
    taken(work, 0)

    assert work.oldest_lateness(1) == 0
    assert work.oldest_lateness(130) == 128


def test_depths_tell_running_due_delayed_and_failing() -> None:
    work = queue(urgent=2)
    for name in "abcd":
        put(work, name)
    put(work, "later", delay=99)
    taken(work, 0)
    work.failed(key("a"), 0)

    depths = work.depths(0)

    assert depths[(QueueLane.URGENT, "running")] == 1
    assert depths[(QueueLane.URGENT, "due")] == 2
    assert depths[(QueueLane.URGENT, "delayed")] == 1
    assert depths[(QueueLane.URGENT, "failing")] == 1


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "take", "done", "fail"]),
        st.sampled_from("abc"),
        st.floats(0, 3),
    ),
    max_size=60,
)


@given(STEPS)
def test_every_key_that_is_put_runs_and_never_twice_at_once(
    steps: Sequence[tuple[str, str, float]],
) -> None:
    work, now = queue(urgent=2), 0.0
    running: set[str] = set()
    wanted: set[str] = set()
    for step, name, value in steps:
        now += value
        if step == "put":
            put(work, name, now, delay=value)
            wanted.add(name)
        elif step == "take":
            found = taken(work, now)
            assert not running & set(found)
            running |= set(found)
            wanted -= set(found)
        elif name in running:
            running.discard(name)
            if step == "done":
                work.done(key(name), now, None)
            else:
                work.failed(key(name), now)
                wanted.add(name)
        assert len(running) <= 2
    for name in running:
        work.done(key(name), now, None)
    for _ in range(10):
        now += BACKOFF_SECONDS_MAX
        for name in taken(work, now):
            wanted.discard(name)
            work.done(key(name), now, None)
    assert not wanted
    assert len(work) == 0
