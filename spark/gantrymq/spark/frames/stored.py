"""Gives access to the fields of all messages in a buffer at once, as numpy arrays.

The walk (wire/message/frame_walk.py) finds where each message and its parts begin, and this module
gathers the fields of fixed width. IPv6 hosts are wider than IPv4 hosts, so the positions of the
fields after them differ between messages.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from gantrymq.wire.message import sys_flag
from gantrymq.wire.message.frame_walk import BODY_SLOT, RECORD_SLOT, SLOTS, FrameWalk

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]

HOST_BYTES_V4: Final = 8
HOST_BYTES_V6: Final = 20
_WIDENING: Final = HOST_BYTES_V6 - HOST_BYTES_V4

_BORN_HOST_AT: Final = 48
_RECONSUME_TIMES_BEFORE_BODY: Final = 16

# The fields before the hosts; record.py has the layout.
_HEAD: Final = np.dtype(
    {
        "names": ["queueId", "flag", "queueOffset", "commitLogOffset", "sysFlag", "bornTimestamp"],
        "formats": [">i4", ">i4", ">i8", ">i8", ">i4", ">i8"],
        "offsets": [12, 16, 20, 28, 36, 40],
        "itemsize": 48,
    }
)


class StoredFrames:
    """The walked messages of one buffer, from which `decode` makes columns."""

    def __init__(self, buffer: bytes, frames: FrameWalk) -> None:
        self.buffer = buffer
        self.frames = frames
        self.count = frames.count
        self.kept: dict[str, pa.Array[Any]] = {}  # Any: see arrays.py
        """Arrays that several columns need."""
        self._bytes: Bytes = np.frombuffer(buffer, np.uint8)
        self._slots: Int32s = np.frombuffer(frames.slots, "<i4")

    def head(self, name: str) -> NDArray[Any]:
        """Return a field that is before the hosts."""
        return self._heads[name]

    def store_timestamps(self) -> Int64s:
        """Milliseconds."""
        positions = self._store_hosts_at - 8
        return self._gathered(positions, 8).view(">i8")[:, 0].astype(np.int64)

    def reconsume_times(self) -> Int32s:
        """How often each message was given back."""
        positions = self._starts(BODY_SLOT) - _RECONSUME_TIMES_BEFORE_BODY
        return self._gathered(positions, 4).view(">i4")[:, 0].astype(np.int32)

    def born_hosts(self) -> tuple[Bytes, NDArray[np.bool_]]:
        """Return the packed hosts of producers, and which are IPv6. IPv4 hosts end with zeros."""
        return self._hosts(self._starts(RECORD_SLOT) + _BORN_HOST_AT, sys_flag.BORN_HOST_V6)

    def store_hosts(self) -> tuple[Bytes, NDArray[np.bool_]]:
        """Return the packed hosts of brokers, as `born_hosts` does."""
        return self._hosts(self._store_hosts_at, sys_flag.STORE_HOST_V6)

    @cached_property
    def _heads(self) -> NDArray[Any]:
        return self._gathered(self._starts(RECORD_SLOT), _HEAD.itemsize).view(_HEAD)[:, 0]

    @cached_property
    def _store_hosts_at(self) -> Int32s:
        positions: Int32s = self._starts(RECORD_SLOT) + (_BORN_HOST_AT + HOST_BYTES_V4 + 8)
        if self.frames.sys_flags & sys_flag.BORN_HOST_V6:
            positions += _WIDENING * self._has(sys_flag.BORN_HOST_V6)
        return positions

    def _hosts(self, positions: Int32s, bit: int) -> tuple[Bytes, NDArray[np.bool_]]:
        hosts = self._gathered(positions, HOST_BYTES_V6)
        is_v6 = self._has(bit)
        hosts[~is_v6, HOST_BYTES_V4:] = 0
        return hosts, is_v6

    def _has(self, bit: int) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self.head("sysFlag") & bit) != 0
        return found

    def _starts(self, slot: int) -> Int32s:
        starts: Int32s = self._slots[slot::SLOTS][: self.count]
        return starts

    def _gathered(self, positions: Int32s, width: int) -> Bytes:
        """Return `width` bytes from each position, a row each."""
        windows = (len(self._bytes) - width + 1, width)
        rows: Bytes = as_strided(self._bytes, windows, (1, 1), writeable=False)[positions]
        return rows
