"""Decides into which tasks the ranges of a batch are split.

Offsets are dense, so a part of a range has as many messages as its offsets say.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from gantrymq.spark.options.read_options import SplitLimits
from gantrymq.spark.source.planning.bounds import QueueSpan


def split(spans: Iterable[QueueSpan], limits: SplitLimits) -> list[QueueSpan]:
    """Split ranges into those that tasks read, in the order of their queues, without empty ones.

    Invariant: together they are the given ranges; none is longer than records_max; and there are at
    least partitions_min of them if there are as many messages.
    """
    ranges = sorted(span for span in spans if span.end > span.start)
    pieces = [_pieces_by_size(span, limits.records_max) for span in ranges]
    if limits.partitions_min is not None:
        _add_pieces(ranges, pieces, limits.partitions_min)
    return [
        part
        for span, count in zip(ranges, pieces, strict=True)
        for part in _equal_parts(span, count)
    ]


def _pieces_by_size(span: QueueSpan, records_max: int | None) -> int:
    if records_max is None:
        return 1
    return -(-(span.end - span.start) // records_max)


def _add_pieces(ranges: Sequence[QueueSpan], pieces: list[int], least: int) -> None:
    """Increase the numbers of pieces to a total of `least`, those of the longest pieces first."""
    sizes = [span.end - span.start for span in ranges]
    total = sum(sizes)
    least = min(least, total)
    for index, size in enumerate(sizes):
        pieces[index] = max(pieces[index], min(size, size * least // total))
    missing = least - sum(pieces)
    # At most one more of each: the shares above are rounded down by less than one.
    by_length = sorted(
        (index for index, size in enumerate(sizes) if pieces[index] < size),
        key=lambda index: -sizes[index] / pieces[index],
    )
    for index in by_length[: max(0, missing)]:
        pieces[index] += 1


def _equal_parts(span: QueueSpan, count: int) -> list[QueueSpan]:
    size = span.end - span.start
    edges = [span.start + size * number // count for number in range(count + 1)]
    return [QueueSpan(span.queue, first, last) for first, last in itertools.pairwise(edges)]
