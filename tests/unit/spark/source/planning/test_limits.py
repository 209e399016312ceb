"""How much a micro-batch takes: in proportion, exactly as much as allowed, and no queue starves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.read_options import TriggerLimits
from gantrymq.spark.source.planning.limits import must_wait, rows_allowed, shares

A, B, C = (QueueKey("t", "b", number) for number in range(3))
QUEUES = st.builds(QueueKey, st.just("t"), st.just("b"), st.integers(0, 30))
BACKLOGS = st.dictionaries(QUEUES, st.integers(0, 10**9), max_size=20)


@given(BACKLOGS, st.integers(0, 10**10), st.integers(0, 10**6))
def test_shares_add_up_and_stay_within_the_backlog(
    backlog: dict[QueueKey, int], rows: int, turn: int
) -> None:
    taken = shares(backlog, rows, turn)
    assert sum(taken.values()) == min(rows, sum(backlog.values()))
    assert all(0 < count <= backlog[queue] for queue, count in taken.items())


@given(BACKLOGS, st.integers(1, 10**10), st.integers(0, 10**6))
def test_each_queue_gets_a_share_when_the_limit_allows(
    backlog: dict[QueueKey, int], rows: int, turn: int
) -> None:
    waiting = {queue for queue, count in backlog.items() if count}
    if rows >= len(waiting):
        assert set(shares(backlog, rows, turn)) == waiting


@given(st.integers(1, 3))
def test_queues_take_turns_when_the_limit_is_below_their_number(rows: int) -> None:
    """The turn grows with what was read, as a stream's does."""
    backlog = dict.fromkeys([A, B, C], 100)
    backlog[QueueKey("t", "b", 3)] = 1
    served: set[QueueKey] = set()
    turn = 0
    for _ in range(4):
        taken = shares(backlog, rows, turn)
        served |= set(taken)
        turn += sum(taken.values())
    assert served == set(backlog)


def test_shares_are_in_proportion() -> None:
    assert shares({A: 900, B: 90, C: 10}, 100, 0) == {A: 88, B: 10, C: 2}


def test_rows_are_limited_by_number_and_by_bytes() -> None:
    backlog = {A: 1000, B: 1000}
    sizes = {A: 100.0, B: 300.0}
    assert rows_allowed(backlog, TriggerLimits(), sizes) == 2000
    assert rows_allowed(backlog, TriggerLimits(rows_max=10), sizes) == 10
    assert rows_allowed(backlog, TriggerLimits(bytes_max=40_000), sizes) == 200
    assert rows_allowed(backlog, TriggerLimits(rows_max=50, bytes_max=40_000), sizes) == 50


def test_a_message_above_the_byte_limit_is_still_taken() -> None:
    assert rows_allowed({A: 5}, TriggerLimits(bytes_max=10), {A: 1e6}) == 1
    assert rows_allowed({A: 0}, TriggerLimits(bytes_max=10), {A: 1e6}) == 0


def test_a_batch_waits_for_enough_messages_up_to_a_maximum_delay() -> None:
    limits = TriggerLimits(rows_min=10, delay_s=60)
    assert must_wait(9, limits, 59)
    assert not must_wait(10, limits, 0)
    assert not must_wait(9, limits, 60)
    assert not must_wait(0, TriggerLimits(), 0)
