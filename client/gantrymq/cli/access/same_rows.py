"""Merges equal rows of several brokers, and counts the brokers that have each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from gantrymq.client.core.admin.asking import Each

T = TypeVar("T")


def same_rows(
    answers: Each[T], rows: Callable[[T], Iterable[Sequence[str]]]
) -> list[tuple[str, ...]]:
    """Return each different row once, sorted, with a last column such as `2 of 3`.

    Each broker keeps its own users and policies, so a row that only some brokers have is a change
    that did not reach all of them.
    """
    counts: dict[tuple[str, ...], int] = {}
    for answer in answers.done.values():
        for row in rows(answer):
            counts[tuple(row)] = counts.get(tuple(row), 0) + 1
    asked = len(answers.done) + len(answers.failed)
    return [(*row, f"{count} of {asked}") for row, count in sorted(counts.items())]
