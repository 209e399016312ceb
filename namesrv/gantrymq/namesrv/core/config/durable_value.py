"""Holds a value whose changes take effect only after they are saved in a file.

    change, change -> one write at a time, of all that wait -> saved: value replaced, all confirmed
                                                            -> failed: value kept, all refused

Invariants: `value` always equals the file's content; changes apply in order; changes that come
during a write go together into the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, final

from gantrymq.namesrv.core.messages import Request

V = TypeVar("V")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class _Asked(Generic[C]):
    request: Request
    change: C


@final
class DurableValue(Generic[V, C]):
    """The value, the changes that wait, and those that are being written."""

    __slots__ = ("_apply", "_next", "_waiting", "_writing", "value")

    def __init__(self, value: V, apply: Callable[[V, Sequence[C]], V]) -> None:
        """`apply` returns the value after some changes; it must neither fail nor alter its
        input."""
        self.value: V = value
        self._apply = apply
        self._next: V | None = None
        self._waiting: list[_Asked[C]] = []
        self._writing: list[_Asked[C]] = []

    @property
    def waiting(self) -> int:
        """The number of changes that are not saved yet."""
        return len(self._waiting) + len(self._writing)

    def unsafe(self) -> list[C]:
        """The changes that are not saved yet, oldest first."""
        return [asked.change for asked in (*self._writing, *self._waiting)]

    def change(self, request: Request, change: C) -> None:
        """Queue a change."""
        self._waiting.append(_Asked(request, change))

    def next_write(self) -> V | None:
        """The value to write now; None during a write, or if no change waits."""
        if self._writing or not self._waiting:
            return None
        self._writing, self._waiting = self._waiting, []
        self._next = self._apply(self.value, [asked.change for asked in self._writing])
        return self._next

    def written(self, *, failed: bool) -> list[Request]:
        """End the write; returns the requests to answer."""
        assert self._next is not None, "no write was under way"
        if not failed:
            self.value = self._next
        self._next = None
        done, self._writing = self._writing, []
        return [asked.request for asked in done]
