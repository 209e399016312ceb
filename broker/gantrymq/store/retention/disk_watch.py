"""Watches how full the disk is, and refuses messages before it is full.

When the partition of the log or of the queues is fuller than diskSpaceWarningLevelRatio, the store
refuses messages while there is still room for everything else; reads go on. The refusal ends at the
first check that finds less in use. One check a second is enough damping; a lower threshold for
resuming, which Java does not have, would refuse for ever where Java goes on. Messages are also
refused while the reserve is given up.

If the use of the disk cannot be determined, nothing changes: the log itself reports a full disk
(`commitlog.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gantrymq.base.disk import DiskError, Usage
from gantrymq.store.files.reserve import PATH as RESERVE_PATH
from gantrymq.store.files.reserve import Reserve
from gantrymq.store.layout import COMMIT_LOG, CONSUME_QUEUE, INDEX
from gantrymq.store.record.put_status import DISK_FULL, PutStatus, Refused
from gantrymq.store.settings import StoreSettings

# A fast broker fills the last tenth of a small volume, of 2 GiB for example, in a few seconds.
LOOK_SECONDS: Final = 1.0

# The index may lack space: its use is only reported.
_NAMES: Final = {COMMIT_LOG: "CL", CONSUME_QUEUE: "CQ", INDEX: "INDEX"}
_NEEDED: Final = (COMMIT_LOG, CONSUME_QUEUE)


@final
class DiskWatch:
    """The disk watch of one store. `refusal` is cheap: it is called for each message."""

    __slots__ = ("_limit", "_next", "_refused", "_reserve", "_root", "_usage_of", "_usages")

    def __init__(
        self, usage_of: Callable[[str], Usage], reserve: Reserve, settings: StoreSettings
    ) -> None:
        """`usage_of` is the method `usage` of the disk."""
        self._usage_of = usage_of
        self._reserve = reserve
        self._limit = settings.disk_space_warning_level_ratio
        self._root = settings.store_path_root_dir.rstrip("/")
        self._next = float("-inf")
        self._usages: dict[str, Usage] = {}
        self._refused: Refused | None = None

    def change(self, settings: StoreSettings) -> None:
        """Apply changed settings at the next turn."""
        self._limit = settings.disk_space_warning_level_ratio
        self.look_soon()

    def turn(self, now: float) -> None:
        """Check the disk if a check is due."""
        if now < self._next:
            return
        self._next = now + LOOK_SECONDS
        for folder in _NAMES:
            try:
                self._usages[folder] = self._usage_of(folder)
            except DiskError:
                continue
        self._reserve.turn(now)
        self._judge()

    def deadline(self) -> float:
        """The time of the next check; in the past if one is wanted at once."""
        return self._next

    def refusal(self) -> Refused | None:
        """Why no message is accepted now, or None."""
        return self._refused

    def look_soon(self) -> None:
        """Check in the next turn, because the log found no space."""
        self._next = float("-inf")

    def out_of_space(self) -> bool:
        """Give up the reserve, because queues, index or config files found no space. From now on no
        message is accepted. Return whether space was freed, so that a retry makes sense."""
        self.look_soon()
        is_freed = self._reserve.give_up()
        self._judge()
        return is_freed

    def has_room(self, size: int) -> bool:
        """Whether the log's partition had `size` bytes free at the last check."""
        usage = self._usages.get(COMMIT_LOG)
        return usage is not None and usage.free_bytes >= size

    @property
    def used_percent(self) -> float:
        """The use of the fuller one of the partitions of log and queues, in percent; 0 if
        unknown."""
        return max(_percent(self._usages.get(folder)) for folder in _NEEDED)

    def _judge(self) -> None:
        self._refused = None
        for folder in _NEEDED:
            usage = self._usages.get(folder)
            if usage is not None and _percent(usage) > self._limit:
                used = usage.total_bytes - usage.free_bytes
                self._refuse(
                    f"{used} of {usage.total_bytes} bytes are used on the partition of "
                    f"{self._place(folder)}, which is more than diskSpaceWarningLevelRatio="
                    f"{self._limit} %. Free space there"
                )
                return
        if not self._reserve.is_held:
            self._refuse(
                "The space kept for units, keys and settings is used up or could not be allocated: "
                f"{self._place(RESERVE_PATH)}. Free space on its partition"
            )

    def _refuse(self, why: str) -> None:
        ratios = " ".join(
            f"{name}: {_percent(self._usages[folder]) / 100:.2f}"
            for folder, name in _NAMES.items()
            if folder in self._usages
        )
        self._refused = Refused(
            PutStatus.SERVICE_NOT_AVAILABLE,
            f"{DISK_FULL}[{ratios}] {why} or lower fileReservedTime; the broker goes on by itself.",
        )

    def _place(self, path: str) -> str:
        return f"{self._root}/{path}" if self._root else path


def _percent(usage: Usage | None) -> float:
    if usage is None:
        return 0.0
    used = usage.total_bytes - usage.free_bytes
    return 100 * used / usage.total_bytes if usage.total_bytes > 0 else 100.0
