"""The files in `config/`: which have to be written, and who waits for it.

    touched -> due at once, or within a while -> written out whole -> safe
            -> held: it waits until another file is safe

A table says what its file holds when it is asked, so that a write has all changes up to it.
Invariants: a file has one write under way at most; who waits is told by the first write that began
after it asked; a write that failed is tried again, and those who waited are told why, also those
whose file is held behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, final

from gantrymq.broker.core.messages import File, SaveFile

# After a disk refused a write.
RETRY_SECONDS: Final = 1.0

_NEVER: Final = float("inf")


@final
class _Kept:
    """What is known of one file."""

    __slots__ = ("behind", "due", "is_writing", "told", "waiting")

    def __init__(self) -> None:
        self.behind: list[File] = []
        self.due: float = _NEVER
        self.is_writing: bool = False
        self.told: list[int] = []
        self.waiting: list[int] = []


@final
class Files:
    """Of one broker."""

    __slots__ = ("_contents", "_kept", "_now")

    def __init__(self) -> None:
        self._contents: dict[File, Callable[[], bytes]] = {}
        self._kept: dict[File, _Kept] = {file: _Kept() for file in File}
        self._now = 0.0

    def keep(self, file: File, content: Callable[[], bytes]) -> None:
        """From now on this is what the file holds."""
        self._contents[file] = content

    def touch(self, file: File, due: float = 0.0) -> None:
        """It has changed; write it by then."""
        kept = self._kept[file]
        kept.due = min(kept.due, due)

    def forget(self, file: File) -> None:
        """It is as it was after all: nothing has to be written."""
        self._kept[file].due = _NEVER

    def hold(self, file: File, behind: File) -> None:
        """Until `release` nothing of it is written, not even by a stop: what it says is not true
        before the other one is safe."""
        self._kept[file].behind.append(behind)

    def release(self, file: File, behind: File) -> None:
        """One who held it does not any more."""
        kept = self._kept[file]
        assert behind in kept.behind, f"nobody holds {file.value}"
        kept.behind.remove(behind)

    def wait(self, file: File, number: int) -> None:
        """Tell this number, by `written`, when it is safe as it is now."""
        self._kept[file].waiting.append(number)
        self.touch(file)

    def is_safe(self, file: File) -> bool:
        """Whether it holds all that there is."""
        kept = self._kept[file]
        return kept.due == _NEVER and not kept.is_writing

    def deadline(self) -> float:
        """When `take_due` has something."""
        kept = self._kept.values()
        return min(each.due for each in kept if not each.is_writing and not each.behind)

    def take_due(self, now: float, *, all_touched: bool = False) -> list[SaveFile]:
        """The writes to begin now."""
        self._now = now
        saves = []
        for file, kept in self._kept.items():
            if kept.is_writing or kept.behind:
                continue
            if kept.due > now and not (all_touched and kept.due < _NEVER):
                continue
            kept.due = _NEVER
            kept.is_writing = True
            kept.told, kept.waiting = kept.waiting, []
            saves.append(SaveFile(file, self._contents[file]()))
        return saves

    def written(self, file: File, failure: str | None) -> list[int]:
        """A write ended: who is told."""
        kept = self._kept[file]
        assert kept.is_writing, f"nobody writes {file.value}"
        kept.is_writing = False
        told, kept.told = kept.told, []
        if failure is not None:
            self.touch(file, self._now + RETRY_SECONDS)
            for held in self._kept.values():
                if file in held.behind:
                    told += held.waiting
                    held.waiting = []
        return told

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way."""
        return any(kept.is_writing for kept in self._kept.values())

    @property
    def contents(self) -> Mapping[File, Callable[[], bytes]]:
        return self._contents
