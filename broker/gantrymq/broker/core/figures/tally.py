"""Provides tables of counts by key with a bounded number of keys.

A key whose count does not change for a day is dropped.

Invariant: a table has at most `limit` keys. Further keys are not counted, and `left_out` says how
often that happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar, final

# A page shows at most so many series of one metric, unless metricsOtelCardinalityLimit differs.
KEYS_MAX: Final = 50_000

# The owner sweeps every ten minutes, so this is a day.
IDLE_SWEEPS: Final = 144

K = TypeVar("K")
T = TypeVar("T")


@final
class _Cell(Generic[T]):
    """The value of one key, and the number of sweeps since it was last used."""

    __slots__ = ("idle_sweeps", "is_used", "value")

    def __init__(self, value: T) -> None:
        self.value = value
        self.is_used = True
        self.idle_sweeps = 0


@final
class Table(Generic[K, T]):
    """A bounded table. `make` creates the entry of a key when the key is first used."""

    __slots__ = ("_cells", "_make", "left_out", "limit")

    def __init__(self, make: Callable[[], T], limit: int = KEYS_MAX) -> None:
        self._cells: dict[K, _Cell[T]] = {}
        self._make = make
        self.limit = limit
        self.left_out = 0

    def __len__(self) -> int:
        return len(self._cells)

    def use(self, key: K) -> T | None:
        """The entry of this key, for the caller to change; None if the table is full."""
        cell = self._cells.get(key)
        if cell is None:
            if len(self._cells) >= self.limit:
                self.left_out += 1
                return None
            cell = self._cells[key] = _Cell(self._make())
        cell.is_used = True
        return cell.value

    def items(self) -> Iterator[tuple[K, T]]:
        """All entries. The table may change during the iteration, since the keys are copied first:
        copying 10 000 keys takes less than 0.1 ms."""
        cells = self._cells
        for key in list(cells):
            cell = cells.get(key)
            if cell is not None:
                yield key, cell.value

    def sweep(self, is_gone: Callable[[K], bool]) -> None:
        """Drop keys for which `is_gone` holds, and keys that were unused for IDLE_SWEEPS calls."""
        for key, cell in list(self._cells.items()):
            cell.idle_sweeps = 0 if cell.is_used else cell.idle_sweeps + 1
            cell.is_used = False
            if cell.idle_sweeps >= IDLE_SWEEPS or is_gone(key):
                del self._cells[key]

    def drop(self, is_gone: Callable[[K], bool]) -> None:
        """Drop keys for which `is_gone` holds, and keep unused ones."""
        for key in [key for key in self._cells if is_gone(key)]:
            del self._cells[key]


@final
class Count:
    """A number in a Tally."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


@final
class Tally(Generic[K]):
    """A bounded table that counts how often each key was added."""

    __slots__ = ("_table",)

    def __init__(self, limit: int = KEYS_MAX) -> None:
        self._table: Table[K, Count] = Table(Count, limit)

    def add(self, key: K, times: int = 1) -> None:
        count = self._table.use(key)
        if count is not None:
            count.value += times

    def items(self) -> Iterator[tuple[K, int]]:
        for key, count in self._table.items():
            yield key, count.value

    def sweep(self, is_gone: Callable[[K], bool]) -> None:
        self._table.sweep(is_gone)

    def drop(self, is_gone: Callable[[K], bool]) -> None:
        self._table.drop(is_gone)
