"""Caches blocks of the log that several pulls read.

The messages of one queue are interleaved with those of all others, and a client that consumes
several queues walks them side by side: what one pull reads along, the next ones read again. So a
block that LOOKS_MIN pulls have recently looked at is read as a whole, once.

Invariants. A block lies in one file of the log and below its end, where bytes never change; code
that cuts the log clears the cache. The numbers of looks and blocks are bounded, and the oldest are
dropped first, because consumers move on. Pulls at random positions rarely meet a block again while
its looks are counted, so no blocks are read for them.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

# Some 350 messages of 128 bytes with their properties. Reading and keeping it takes some 25 us, the
# time of eight pieces of it.
BLOCK_BYTES: Final = 1 << 17

# 8 MB: the distance between the queues of a topic when a client has a thousand messages of each.
BLOCKS_MAX: Final = 64

LOOKS_MIN: Final = 3


@final
class LogBlocks:
    """The cached blocks of one log, by the position at which they begin."""

    __slots__ = ("_blocks", "_looks", "block_bytes")

    def __init__(self, block_bytes: int = BLOCK_BYTES) -> None:
        self.block_bytes: i64 = block_bytes
        self._blocks: dict[int, bytes] = {}
        self._looks: dict[int, int] = {}

    def find(self, start: int) -> bytes | None:
        """The block that begins here, or None."""
        return self._blocks.get(start)

    def is_wanted(self, start: int) -> bool:
        """Count a look at a block that is not cached; whether to read it as a whole and `keep`
        it."""
        looks = self._looks
        count = looks.get(start, 0) + 1
        if count == LOOKS_MIN:
            del looks[start]
            return True
        if count == 1 and len(looks) == BLOCKS_MAX:
            del looks[next(iter(looks))]
        looks[start] = count
        return False

    def keep(self, start: int, data: bytes) -> None:
        """Cache this block, in place of the oldest one."""
        blocks = self._blocks
        if len(blocks) == BLOCKS_MAX:
            del blocks[next(iter(blocks))]
        blocks[start] = data

    def clear(self) -> None:
        self._blocks.clear()
        self._looks.clear()
