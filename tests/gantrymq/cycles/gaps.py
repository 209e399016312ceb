"""When messages came, and the longest time without one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

SECOND_NS: Final = 1_000_000_000


def longest_seconds(times_ns: Iterable[int], began_ns: int, ended_ns: int) -> float:
    """Between two of them that follow each other, or the borders."""
    within = sorted(each for each in times_ns if began_ns < each < ended_ns)
    edges = [began_ns, *within, ended_ns]
    return max(later - earlier for earlier, later in pairwise(edges)) / SECOND_NS


def rate_before(times_ns: Iterable[int], at_ns: int) -> int:
    """How many there were in the second before."""
    return sum(at_ns - SECOND_NS < each <= at_ns for each in times_ns)
