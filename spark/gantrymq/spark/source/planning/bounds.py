"""Defines the offsets that brokers have of each queue, and the ranges that are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from gantrymq.spark.options.assignment import QueueKey


@dataclass(frozen=True, slots=True)
class Bounds:
    """The offsets that a broker has of one queue: from `first` up to, but without, `end`.

    Offsets are dense: between the two there is a message at every offset. A slave may lag, so it
    reports at most what exists, and possibly less.
    """

    first: int
    end: int
    is_of_master: bool = True


QueueBounds: TypeAlias = Mapping[QueueKey, Bounds]


class QueueSpan(NamedTuple):
    """A range of one queue's offsets, without `end`."""

    queue: QueueKey
    start: int
    end: int
