"""GET_TIMER_CHECK_POINT's answer: how far a master has come in delivering timer messages.

    read time ms 8 | position in a file of Java's 8 | queue offset 8 | master's queue offset 8 |
    state version 8 | timestamp 8 | counter 8                          5.0 has the first four alone

All that was due before the read time is delivered; what lies in the timer queue before the offset
had been read for that. Here the position and the version are 0.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import RemoteError

_LONGS: Final = struct.Struct(">7q")
_FIRST: Final = struct.Struct(">4q")


@final
@dataclass(frozen=True, slots=True)
class TimerCheckpoint:
    """Of a master."""

    read_ms: int
    taken: int
    """The queue offset up to which messages had been read."""

    def encode(self) -> bytes:
        return _LONGS.pack(self.read_ms, 0, self.taken, self.taken, 0, 0, 0)

    @classmethod
    def decode(cls, body: bytes) -> TimerCheckpoint:
        if len(body) < _FIRST.size:
            raise RemoteError(f"a timer checkpoint of {len(body)} bytes, not {_LONGS.size}")
        read_ms, _, taken, _ = _FIRST.unpack_from(body)
        if read_ms < 0 or taken < 0:
            raise RemoteError(f"a timer checkpoint says {read_ms} ms and offset {taken}")
        return cls(read_ms, taken)
