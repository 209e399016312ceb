"""Caches pages of units for consumers that read a queue sequentially.

A consumer walks a queue in small steps, and each would cost a read from the page cache. When a read
begins where the last one ended, a page of units is read ahead, and the next reads find their units
here. The units that were read last are a page as well, for a read that follows them.

Invariant: a page has only units of the files, which never change before they are wiped; code that
wipes units drops the page. A queue has at most one page, and the oldest are dropped first.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES

# Of 4 KiB each.
PAGES_MAX: Final = 256


@final
class _Page:
    """Consecutive units, from number `first` on."""

    __slots__ = ("first", "units")

    def __init__(self, first: i64, units: bytes) -> None:
        self.first: i64 = first
        self.units: bytes = units


@final
class UnitPages:
    """The pages of all queues of one store, by the number that `join` gives each queue."""

    __slots__ = ("_joined", "_pages")

    def __init__(self) -> None:
        self._joined: int = 0
        self._pages: dict[int, _Page] = {}

    def join(self) -> int:
        """A number for one more queue."""
        self._joined += 1
        return self._joined

    def find(self, queue: int, offset: i64, count: i64) -> bytes | None:
        """These units, if the queue's page has all of them; else None."""
        page = self._pages.get(queue)
        if page is None:
            return None
        at = (offset - page.first) * UNIT_BYTES
        end = at + count * UNIT_BYTES
        if at < 0 or end > len(page.units):
            return None
        return page.units[at:end]

    def ends_at(self, queue: int, offset: i64) -> bool:
        """Whether the queue's page ends right before this unit."""
        page = self._pages.get(queue)
        return page is not None and page.first + len(page.units) // UNIT_BYTES == offset

    def keep(self, queue: int, first: i64, units: bytes) -> None:
        """Cache this page, in place of the queue's previous one, or of the oldest page."""
        pages = self._pages
        pages.pop(queue, None)
        if len(pages) == PAGES_MAX:
            del pages[next(iter(pages))]
        pages[queue] = _Page(first, units)

    def drop(self, queue: int) -> None:
        self._pages.pop(queue, None)
