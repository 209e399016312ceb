"""Units that follow those which were asked for, of queues that are being consumed.

A consumer goes through a queue in small steps, and each would cost a look at the disk's cache: who
goes on where the last step ended has a page read at once, and finds the next steps here. What was
read last is a page as well, for whoever comes next to it.

Invariant: a page holds units of the files only, which never change before they are wiped; who wipes
drops the page. A queue has one at most, and those kept first go first.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from gantrymq.store.queue_unit import UNIT_BYTES

# Of 4 KiB each.
PAGES_MAX: Final = 256


@final
class _Page:
    """Units from number `first` on."""

    __slots__ = ("first", "units")

    def __init__(self, first: i64, units: bytes) -> None:
        self.first: i64 = first
        self.units: bytes = units


@final
class UnitPages:
    """By the queue's own number here: see `join`."""

    __slots__ = ("_joined", "_pages")

    def __init__(self) -> None:
        self._joined: int = 0
        self._pages: dict[int, _Page] = {}

    def join(self) -> int:
        """The number of one more queue."""
        self._joined += 1
        return self._joined

    def find(self, queue: int, offset: i64, count: i64) -> bytes | None:
        """These units, where the queue's page has all of them."""
        page = self._pages.get(queue)
        if page is None:
            return None
        at = (offset - page.first) * UNIT_BYTES
        end = at + count * UNIT_BYTES
        if at < 0 or end > len(page.units):
            return None
        return page.units[at:end]

    def ends_at(self, queue: int, offset: i64) -> bool:
        """Whether the queue's page has the unit before this one as its last."""
        page = self._pages.get(queue)
        return page is not None and page.first + len(page.units) // UNIT_BYTES == offset

    def keep(self, queue: int, first: i64, units: bytes) -> None:
        """In the place of the queue's page, or of the one that has been here longest."""
        pages = self._pages
        pages.pop(queue, None)
        if len(pages) == PAGES_MAX:
            del pages[next(iter(pages))]
        pages[queue] = _Page(first, units)

    def drop(self, queue: int) -> None:
        self._pages.pop(queue, None)
