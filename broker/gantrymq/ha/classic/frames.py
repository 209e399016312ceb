"""Encodes and decodes classic replication as RocketMQ's brokers speak it; numbers are big endian.

    report    slave to master   8 the end of the slave's log, which is what it wants next
    frame     master to slave   8 position | 4 size | the log's bytes from there on

A frame of size 0 is a heartbeat and names the position of the next one. A report of 0 comes from an
empty slave. Neither identifies the sender: a peer of another kind is detected by its first 8 bytes,
which are not a valid position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from librt.strings import read_i32_be, read_i64_be

_REPORT_BYTES: Final = 8
_SIZE_BYTES: Final = 4
_HEAD_BYTES: Final = _REPORT_BYTES + _SIZE_BYTES

# The size of the read buffer of Java's slaves: no master sends frames that do not fit.
HA_FRAME_BYTES_MAX: Final = 4 << 20


def encode_report(position: int) -> bytes:
    return position.to_bytes(_REPORT_BYTES, "big", signed=True)


def encode_head(position: int, size: int) -> bytes:
    """The header before the log's bytes."""
    return encode_report(position) + size.to_bytes(_SIZE_BYTES, "big", signed=True)


@final
class ReportReader:
    """Decodes the reports of a slave from pieces of any size."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def decode(self, data: bytes) -> Sequence[int]:
        """The reports that are complete."""
        data = self._rest + data
        whole = len(data) - len(data) % _REPORT_BYTES
        self._rest = data[whole:]
        return [read_i64_be(data, at) for at in range(0, whole, _REPORT_BYTES)]


@final
class FrameReader:
    """Decodes the frames of a master. Their bytes are passed on as they arrive, before a frame is
    complete."""

    __slots__ = ("_head", "_left", "_position", "failure")

    def __init__(self) -> None:
        self._head = b""
        self._left = 0
        self._position = 0
        self.failure = ""
        """Why decoding stopped; "" if there was no error."""

    def decode(self, data: bytes) -> Sequence[tuple[int, bytes]]:
        """The received bytes with their positions; a heartbeat gives its position and no bytes."""
        pieces: list[tuple[int, bytes]] = []
        at = 0
        while at < len(data) and not self.failure:
            if self._left:
                at = self._take_bytes(data, at, pieces)
            else:
                at = self._take_head(data, at, pieces)
        return pieces

    def _take_bytes(self, data: bytes, at: int, pieces: list[tuple[int, bytes]]) -> int:
        piece = data[at : at + self._left]
        pieces.append((self._position, piece))
        self._position += len(piece)
        self._left -= len(piece)
        return at + len(piece)

    def _take_head(self, data: bytes, at: int, pieces: list[tuple[int, bytes]]) -> int:
        more = data[at : at + _HEAD_BYTES - len(self._head)]
        self._head += more
        if len(self._head) == _HEAD_BYTES:
            self._position = read_i64_be(self._head, 0)
            size = read_i32_be(self._head, _REPORT_BYTES)
            self._head = b""
            if self._position < 0 or not 0 <= size <= HA_FRAME_BYTES_MAX:
                self.failure = f"a frame of {size} bytes at {self._position}"
                return at
            self._left = size
            if not size:
                pieces.append((self._position, b""))
        return at + len(more)
