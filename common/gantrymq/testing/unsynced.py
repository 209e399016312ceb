"""Tracks which changes of a file or folder are on disk, and which a power cut may lose.

Every state that a power cut can leave is derived from calls of `choose(n)`, which returns 0 to n -
1. Answers of 0 are the kindest (everything survives), answers of 1 lose everything that may be
lost, so a search for a failing history shrinks towards fewer losses. The model decides which part
of a change arrived; the order of arrival shows only in what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar, final

from gantrymq.testing.memory_disk import Inode, Node, touched

Chooser: TypeAlias = Callable[[int], int]
SECTOR_BYTES: Final = 512

C = TypeVar("C")


def keep_all(count: int) -> int:
    """The choices of a device that has written everything."""
    assert count > 0
    return 0


def lose_all(count: int) -> int:
    """The choices of a device that has written only what was synced."""
    return min(1, count - 1)


@final
@dataclass(frozen=True, slots=True)
class Written:
    """Bytes at a position; the file reaches at least to their end."""

    position: int
    data: bytes


@final
@dataclass(frozen=True, slots=True)
class Resized:
    size: int


@final
@dataclass(frozen=True, slots=True)
class Allocated:
    position: int
    size: int


Change: TypeAlias = Written | Resized | Allocated


@final
class Image:
    """A file's bytes and reserved blocks on the device."""

    __slots__ = ("blocks", "data")

    def __init__(self, data: bytearray, blocks: set[int]) -> None:
        self.data = bytearray(data)
        self.blocks = set(blocks)

    def apply(self, change: Change) -> None:
        if isinstance(change, Resized):
            del self.data[change.size :]
            self._extend(change.size)
            self.blocks &= set(touched(0, change.size))
            return
        size = change.size if isinstance(change, Allocated) else len(change.data)
        self._extend(change.position + size)
        self.blocks.update(touched(change.position, size))
        if isinstance(change, Written):
            self.data[change.position : change.position + size] = change.data

    def _extend(self, size: int) -> None:
        self.data.extend(bytes(max(0, size - len(self.data))))


@final
class FileRecord:
    """A file as the device has it, and the changes since that it may or may not have."""

    __slots__ = ("changes", "image", "sequence")

    def __init__(self, inode: Inode) -> None:
        self.image = Image(inode.data, inode.blocks)
        self.changes: list[tuple[int, Change]] = []
        self.sequence = 0

    def add(self, change: Change) -> None:
        self.sequence += 1
        self.changes.append((self.sequence, change))

    def sync(self, sequence: int) -> None:
        """The changes up to this one are on the device and survive a power cut."""
        for number, change in self.changes:
            if number <= sequence:
                self.image.apply(change)
        self.changes = [kept for kept in self.changes if kept[0] > sequence]

    def fail_sync(self, choose: Chooser) -> None:
        """Fail a sync: unwritten pages are forgotten (0), stay unwritten (1), or a mix of both."""
        fate = choose(3)
        if fate == 1:
            return
        if fate == 2:
            self.image = self.survivor(choose, flipped_permille=0)
        self.changes = []

    def survivor(self, choose: Chooser, flipped_permille: int) -> Image:
        """The file after a power cut."""
        image = Image(self.image.data, self.image.blocks)
        for change in arrived([change for _, change in self.changes], choose, self._torn):
            image.apply(_flipped(change, choose) if chance(choose, flipped_permille) else change)
        return image

    def flip_bit(self, inode: Inode, position: int, bit: int) -> None:
        """Flip one bit in what the program reads and in what the device has."""
        inode.data[position] ^= 1 << bit
        flipped = bytes([inode.data[position]])
        if any(_covers(change, position) for _, change in self.changes):
            self.add(Written(position, flipped))
        else:
            self.image.data[position : position + 1] = flipped

    def _torn(self, change: Change, choose: Chooser) -> Sequence[Change]:
        """The parts of one change that survive; the last two fates need a write to tear."""
        fate = choose(5)
        if fate == 0:
            return [change]
        if fate == 1:
            return []
        if not isinstance(change, Written):
            return [change] if fate % 2 else []
        if fate == 2:  # the size arrived, the bytes did not
            return [Written(change.position + len(change.data), b"")]
        return _cut_anywhere(change, choose) if fate == 3 else _some_sectors(change, choose)


@final
class FolderRecord:
    """A folder's names as the device has them, and the later steps: each whole or not at all."""

    __slots__ = ("names", "steps")

    def __init__(self, names: dict[str, Node]) -> None:
        self.names = dict(names)
        self.steps: list[dict[str, Node | None]] = []

    def sync(self) -> None:
        for step in self.steps:
            _take_step(self.names, step)
        self.steps = []

    def survivor(self, choose: Chooser) -> dict[str, Node]:
        """The names after a power cut."""
        names = dict(self.names)
        for step in arrived(self.steps, choose, lambda step, choose: [step][choose(2) :]):
            _take_step(names, step)
        return names


def arrived(
    changes: Sequence[C], choose: Chooser, torn: Callable[[C, Chooser], Sequence[C]]
) -> Sequence[C]:
    """What survives of the changes: all of them, none, the first few and a part of the next one, or
    of each change what `torn` returns."""
    if not changes:
        return []
    fate = choose(4)
    if fate == 0:
        return changes
    if fate == 1:
        return []
    if fate == 2:
        count = choose(len(changes))
        return [*changes[:count], *torn(changes[count], choose)]
    return [part for change in changes for part in torn(change, choose)]


def chance(choose: Chooser, permille: int) -> bool:
    """True so often in a thousand; an answer of 0 means False."""
    return permille > 0 and choose(1000) >= 1000 - permille


def _cut_anywhere(change: Written, choose: Chooser) -> Sequence[Written]:
    cut = choose(len(change.data) + 1)
    if choose(2):
        return [Written(change.position + cut, change.data[cut:])]
    return [Written(change.position, change.data[:cut])]


def _some_sectors(change: Written, choose: Chooser) -> Sequence[Written]:
    """The sectors in a random pattern, which repeats if the write is long."""
    first = change.position // SECTOR_BYTES
    count = (change.position + len(change.data) - 1) // SECTOR_BYTES + 1 - first
    pattern = choose(1 << min(count, 32))
    kept = []
    for number in range(count):
        if pattern >> number % 32 & 1:
            start = max(0, (first + number) * SECTOR_BYTES - change.position)
            end = (first + number + 1) * SECTOR_BYTES - change.position
            kept.append(Written(change.position + start, change.data[start:end]))
    return kept


def _flipped(change: C, choose: Chooser) -> C | Written:
    if not isinstance(change, Written) or not change.data:
        return change
    data = bytearray(change.data)
    data[choose(len(data))] ^= 1 << choose(8)
    return Written(change.position, bytes(data))


def _covers(change: Change, position: int) -> bool:
    return isinstance(change, Written) and 0 <= position - change.position < len(change.data)


def _take_step(names: dict[str, Node], step: dict[str, Node | None]) -> None:
    for name, node in step.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node
