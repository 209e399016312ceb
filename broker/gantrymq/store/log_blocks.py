"""Blocks of the log that pulls keep coming back to, each in one piece.

The messages of one queue lie between those of all others, and whoever consumes several walks them
side by side: what one pull reads along, the next ones read again. So a block that LOOKS_MIN pulls
have looked at lately is worth to be read whole, once.

Invariants. A block lies in one file of the log and below its end, where bytes never change; who
cuts the log clears these. Looks and blocks are bounded in number, and those that came first go
first: walkers move on. Pulls from anywhere hardly meet a block again while its looks are counted,
and so have none read for them.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

# Some 350 messages of 128 bytes with their properties. It is read and kept in some 25 us, as long
# as eight pieces of it.
BLOCK_BYTES: Final = 1 << 17

# 8 MB: how far apart the queues of a topic are when a client has a thousand messages of each.
BLOCKS_MAX: Final = 64

LOOKS_MIN: Final = 3


@final
class LogBlocks:
    """By where they begin."""

    __slots__ = ("_blocks", "_looks", "block_bytes")

    def __init__(self, block_bytes: int = BLOCK_BYTES) -> None:
        self.block_bytes: i64 = block_bytes
        self._blocks: dict[int, bytes] = {}
        self._looks: dict[int, int] = {}

    def find(self, start: int) -> bytes | None:
        """The block that begins here, where it is kept."""
        return self._blocks.get(start)

    def is_wanted(self, start: int) -> bool:
        """One more look at a block that is not kept: whether to read it whole, and to `keep` it."""
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
        """In place of the one that has been here longest."""
        blocks = self._blocks
        if len(blocks) == BLOCKS_MAX:
            del blocks[next(iter(blocks))]
        blocks[start] = data

    def clear(self) -> None:
        self._blocks.clear()
        self._looks.clear()
