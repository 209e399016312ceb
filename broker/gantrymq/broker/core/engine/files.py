"""Schedules the writes of the files in `config/`, and tells which tasks wait for them.

    touched -> due at once, or within an interval -> written as a whole -> safe
            -> held: waits until another file is safe

A file's content is computed when its write begins, so the write has all changes up to then.
Invariants: a file has at most one write under way. A waiting task is told the result of the first
write that began after it asked. A failed write is retried, and the tasks that wait for it are told
the reason, including those that wait for a file held behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.messages import File, SaveFile

# Before a retry after a failed write.
RETRY_SECONDS: Final = 1.0


@final
class _Kept:
    """The state of one file. `Files` owns it."""

    __slots__ = ("behind", "due", "is_writing", "told", "waiting")

    def __init__(self) -> None:
        self.behind: list[File] = []
        self.due: float = NEVER
        self.is_writing: bool = False
        self.told: list[int] = []
        self.waiting: list[int] = []


@final
class Files:
    """The configuration files of one broker."""

    __slots__ = ("_contents", "_kept", "_now")

    def __init__(self) -> None:
        self._contents: dict[File, Callable[[], bytes]] = {}
        self._kept: dict[File, _Kept] = {file: _Kept() for file in File}
        self._now = 0.0

    def keep(self, file: File, content: Callable[[], bytes]) -> None:
        """Register the function that computes the file's content."""
        self._contents[file] = content

    def touch(self, file: File, due: float = 0.0) -> None:
        """Schedule a write of the file by this time, because its content changed."""
        kept = self._kept[file]
        kept.due = min(kept.due, due)

    def forget(self, file: File) -> None:
        """Cancel the scheduled write: the content is as before."""
        self._kept[file].due = NEVER

    def hold(self, file: File, behind: File) -> None:
        """Write nothing of the file until `release`, not even at a stop, because its content is
        valid only once the file `behind` is safe."""
        self._kept[file].behind.append(behind)

    def release(self, file: File, behind: File) -> None:
        """End one `hold` of the file."""
        kept = self._kept[file]
        assert behind in kept.behind, f"{file.value} does not wait for another file"
        kept.behind.remove(behind)

    def wait(self, file: File, number: int) -> None:
        """Have `written` return this number once the file is safe as it is now, or its write
        fails."""
        self._kept[file].waiting.append(number)
        self.touch(file)

    def is_safe(self, file: File) -> bool:
        """Whether the file on disk has all changes."""
        kept = self._kept[file]
        return kept.due == NEVER and not kept.is_writing

    def deadline(self) -> float:
        """When `take_due` next returns a write."""
        kept = self._kept.values()
        return min(each.due for each in kept if not each.is_writing and not each.behind)

    def take_due(self, now: float, *, all_touched: bool = False) -> list[SaveFile]:
        """The writes to begin now; with `all_touched` also those that are not due yet."""
        self._now = now
        saves = []
        for file, kept in self._kept.items():
            if kept.is_writing or kept.behind:
                continue
            if kept.due > now and not (all_touched and kept.due < NEVER):
                continue
            kept.due = NEVER
            kept.is_writing = True
            kept.told, kept.waiting = kept.waiting, []
            saves.append(SaveFile(file, self._contents[file]()))
        return saves

    def written(self, file: File, failure: str | None) -> list[int]:
        """A write ended. Returns the numbers of the waiting tasks to tell."""
        kept = self._kept[file]
        assert kept.is_writing, f"no write of {file.value} is under way"
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
