"""Rows that several brokers have in common, and how many of the brokers have each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from gantrymq.client.core.admin.asking import Each

T = TypeVar("T")


def same_rows(told: Each[T], rows: Callable[[T], Iterable[Sequence[str]]]) -> list[tuple[str, ...]]:
    """Each different row once, sorted, with `2 of 3` behind it: users and policies are kept by
    each broker, so a row that not all have is a change that did not reach all."""
    counts: dict[tuple[str, ...], int] = {}
    for answer in told.done.values():
        for row in rows(answer):
            counts[tuple(row)] = counts.get(tuple(row), 0) + 1
    asked = len(told.done) + len(told.failed)
    return [(*row, f"{count} of {asked}") for row, count in sorted(counts.items())]
