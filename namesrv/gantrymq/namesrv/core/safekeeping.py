"""A value whose changes count only once they are safe in a file.

    change, change -> one write at a time, of all that waits -> written: value replaced, all told
                                                             -> failed: value kept, all refused

Invariants: `value` is always what the file holds; changes apply in the order they came; those that
come while a write is under way go together into the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, final

from gantrymq.namesrv.core.messages import Request

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Change(Generic[V]):
    request: Request
    apply: Callable[[V], V]


@final
class Safekeeping(Generic[V]):
    """The value, what waits, and what is being written."""

    __slots__ = ("_next", "_waiting", "_writing", "value")

    def __init__(self, value: V) -> None:
        self.value: V = value
        self._next: V | None = None
        self._waiting: list[_Change[V]] = []
        self._writing: list[_Change[V]] = []

    @property
    def waiting(self) -> int:
        """How many changes are not safe yet."""
        return len(self._waiting) + len(self._writing)

    def change(self, request: Request, apply: Callable[[V], V]) -> None:
        """Queue a change; `apply` must neither fail nor keep what it is given."""
        self._waiting.append(_Change(request, apply))

    def next_write(self) -> V | None:
        """What to write now; None while a write is under way or nothing waits."""
        if self._writing or not self._waiting:
            return None
        self._writing, self._waiting = self._waiting, []
        value = self.value
        for change in self._writing:
            value = change.apply(value)
        self._next = value
        return value

    def written(self, *, failed: bool) -> list[Request]:
        """The write ended; whom to answer."""
        assert self._next is not None, "no write was under way"
        if not failed:
            self.value = self._next
        self._next = None
        done, self._writing = self._writing, []
        return [change.request for change in done]
