"""Where reading begins and ends, by offsets, times and groups."""

from __future__ import annotations

import pytest

from gantrymq.spark.options import RocketMQOptionError
from gantrymq.spark.options.assignment import EARLIEST, LATEST, QueueKey
from gantrymq.spark.options.read_options import ByGroup, ByOffset, ByTimestamp
from gantrymq.spark.source.planning.bounds import Bounds
from gantrymq.spark.source.planning.positions import (
    ending_positions,
    moments_wanted,
    starting_positions,
)

A, B = QueueKey("t", "b", 0), QueueKey("t", "b", 1)
BOUNDS = {A: Bounds(10, 50), B: Bounds(0, 0)}


def test_earliest_and_latest_are_the_bounds() -> None:
    assert starting_positions(ByOffset(EARLIEST), BOUNDS, {}) == {A: 10, B: 0}
    assert starting_positions(ByOffset(LATEST), BOUNDS, {}) == {A: 50, B: 0}
    assert ending_positions(ByOffset(LATEST), BOUNDS, {}) == {A: 50, B: 0}


def test_queues_without_a_given_offset_begin_at_the_earliest() -> None:
    assert starting_positions(ByOffset(EARLIEST, {A: 23}), BOUNDS, {}) == {A: 23, B: 0}
    assert starting_positions(ByOffset(EARLIEST, {A: LATEST}), BOUNDS, {}) == {A: 50, B: 0}
    assert ending_positions(ByOffset(LATEST, {A: 23}), BOUNDS, {}) == {A: 23, B: 0}


def test_an_offset_that_expired_stays_for_the_check_of_losses() -> None:
    assert starting_positions(ByOffset(EARLIEST, {A: 3}), BOUNDS, {})[A] == 3


def test_an_offset_past_the_end_is_refused_unless_a_slave_was_read() -> None:
    with pytest.raises(RocketMQOptionError, match="offset 51 of queue t b 0 is behind its end"):
        starting_positions(ByOffset(EARLIEST, {A: 51}), BOUNDS, {})
    lagging = {A: Bounds(10, 50, is_of_master=False)}
    assert starting_positions(ByOffset(EARLIEST, {A: 51}), lagging, {}) == {A: 51}


def test_an_unknown_queue_is_refused_with_the_known_ones() -> None:
    unknown = QueueKey("u", "b", 0)
    with pytest.raises(RocketMQOptionError, match="not read: u b 0; those that are read: t b 0"):
        starting_positions(ByOffset(EARLIEST, {unknown: 1}), BOUNDS, {})
    with pytest.raises(RocketMQOptionError, match="endingOffsetsByTimestamp"):
        ending_positions(ByTimestamp(None, {unknown: 1}), BOUNDS, {})


def test_a_group_continues_at_its_offset_and_begins_queues_without_one() -> None:
    assert starting_positions(ByGroup("g"), BOUNDS, {A: 40, B: None}) == {A: 40, B: 0}


def test_a_time_is_looked_up_for_all_queues_or_the_given_ones() -> None:
    assert moments_wanted(ByTimestamp(7), BOUNDS) == {A: 7, B: 7}
    assert moments_wanted(ByTimestamp(None, {A: 9}), BOUNDS) == {A: 9}
    assert moments_wanted(ByOffset(LATEST), BOUNDS) == {}


def test_a_queue_without_a_message_that_new_is_read_from_its_end() -> None:
    found = {A: 30, B: None}
    assert starting_positions(ByTimestamp(7), BOUNDS, found) == {A: 30, B: 0}
    assert starting_positions(ByTimestamp(7), BOUNDS, {A: None}) == {A: 50, B: 0}
    assert ending_positions(ByTimestamp(7), BOUNDS, found) == {A: 30, B: 0}
    only_b = ByTimestamp(None, {B: 7})
    assert starting_positions(only_b, BOUNDS, {B: None}) == {A: 10, B: 0}


def test_the_strategy_error_refuses_a_queue_without_a_message_that_new() -> None:
    with pytest.raises(RocketMQOptionError, match=r"no message was stored .* in t b 1"):
        starting_positions(ByTimestamp(7, must_exist=True), BOUNDS, {A: 30, B: None})
