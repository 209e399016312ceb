"""Decides where reading begins and ends in each queue, from the options and what brokers know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gantrymq.spark.options.assignment import EARLIEST, LATEST, QueueKey, QueueValues
from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.options.read_options import ByGroup, ByOffset, ByTimestamp, Place
from gantrymq.spark.source.planning.bounds import Bounds, QueueBounds

Found = Mapping[QueueKey, int | None]
"""The answer of brokers for each queue: an offset, or None."""

# The most queues that an error text names. It counts the others.
NAMED_MAX: Final = 5


def moments_wanted(place: Place, queues: Iterable[QueueKey]) -> Mapping[QueueKey, int]:
    """Return the times that brokers have to be asked for, in milliseconds."""
    if not isinstance(place, ByTimestamp):
        return {}
    if place.everywhere_ms is not None:
        return dict.fromkeys(queues, place.everywhere_ms)
    named = place.named_ms or {}
    return {queue: named[queue] for queue in queues if queue in named}


def starting_positions(place: Place, bounds: QueueBounds, found: Found) -> dict[QueueKey, int]:
    """Return where reading begins. A queue that the options do not name begins at its earliest
    message.

    Raises RocketMQOptionError if the options name a queue or offset that does not exist.
    """
    if isinstance(place, ByOffset):
        _must_be_there("startingOffsets", place.named, bounds)
        return {queue: _at(place, queue, has) for queue, has in bounds.items()}
    if isinstance(place, ByGroup):
        return {queue: _or_else(found.get(queue), has.first) for queue, has in bounds.items()}
    _must_be_there("startingOffsetsByTimestamp", place.named_ms, bounds)
    asked = moments_wanted(place, bounds)
    if place.must_exist:
        _must_have_messages(asked, found)
    return {
        queue: _or_else(found.get(queue), has.end) if queue in asked else has.first
        for queue, has in bounds.items()
    }


def ending_positions(place: Place, bounds: QueueBounds, found: Found) -> dict[QueueKey, int]:
    """Return where a batch ends. A queue that the options do not name ends at its latest message.

    Raises RocketMQOptionError if the options name a queue or offset that does not exist.
    """
    if isinstance(place, ByOffset):
        _must_be_there("endingOffsets", place.named, bounds)
        return {queue: _at(place, queue, has) for queue, has in bounds.items()}
    assert isinstance(place, ByTimestamp), "no batch ends where a group is"
    _must_be_there("endingOffsetsByTimestamp", place.named_ms, bounds)
    return {queue: _or_else(found.get(queue), has.end) for queue, has in bounds.items()}


def _at(place: ByOffset, queue: QueueKey, has: Bounds) -> int:
    named = place.named
    offset = place.everywhere if named is None else named.get(queue, place.everywhere)
    if offset == EARLIEST:
        return has.first
    if offset == LATEST:
        return has.end
    if offset > has.end and has.is_of_master:
        raise RocketMQOptionError(
            f"offset {offset} of queue {queue} is behind its end: the queue has offsets {has.first}"
            f" to {has.end - 1}, and {has.end} comes next"
        )
    return offset


def _or_else(offset: int | None, instead: int) -> int:
    return instead if offset is None else offset


def _must_be_there(option: str, named: QueueValues | None, bounds: QueueBounds) -> None:
    absent = sorted(set(named or {}) - set(bounds))
    if absent:
        raise RocketMQOptionError(
            f"option {option} names queues that are not read: {_listed(absent)}; those that are"
            f" read: {_listed(sorted(bounds)) or 'none'}"
        )


def _must_have_messages(asked: Mapping[QueueKey, int], found: Found) -> None:
    empty = sorted(queue for queue in asked if found.get(queue) is None)
    if empty:
        raise RocketMQOptionError(
            f"no message was stored at or after the starting timestamp in {_listed(empty)}; choose"
            " an earlier one, or startingTimestampStrategy=latest to read new messages there"
        )


def _listed(queues: list[QueueKey]) -> str:
    named = ", ".join(map(str, queues[:NAMED_MAX]))
    more = len(queues) - NAMED_MAX
    return f"{named} and {more} more" if more > 0 else named
