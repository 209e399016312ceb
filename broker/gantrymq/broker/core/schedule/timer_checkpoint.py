"""Encodes the answer to GET_TIMER_CHECK_POINT: a master's progress in delivering timer messages.

    read time ms 8 | position in a file of Java's 8 | queue offset 8 | master's queue offset 8 |
    state version 8 | timestamp 8 | counter 8                          5.0 has the first four alone
    place                                                    of Gantry masters, for their slaves

All messages due before the read time are delivered; for that, the timer queue had been read up to
the offset. The position and the version are 0 here. The place is in the format of
timer_progress.py's file. Only the place knows of rolled messages, which would all be delivered
twice without it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.schedule.timer_progress import TimerProgress
from gantrymq.wire import javajson

_LONGS: Final = struct.Struct(">7q")
_FIRST: Final = struct.Struct(">4q")


@final
@dataclass(frozen=True, slots=True)
class TimerCheckpoint:
    """The progress of a master."""

    read_ms: int
    taken: int
    """The queue offset up to which messages had been read."""
    place: TimerProgress | None = None
    """The complete progress, if the master is Gantry's."""

    def encode(self) -> bytes:
        longs = _LONGS.pack(self.read_ms, 0, self.taken, self.taken, 0, 0, 0)
        return longs if self.place is None else longs + javajson.dumps_fastjson(self.place.bean())

    @classmethod
    def decode(cls, body: bytes) -> TimerCheckpoint:
        if len(body) < _FIRST.size:
            raise RemoteError(f"a timer checkpoint of {len(body)} bytes, not {_LONGS.size}")
        read_ms, _, taken, _ = _FIRST.unpack_from(body)
        if read_ms < 0 or taken < 0:
            raise RemoteError(f"a timer checkpoint says {read_ms} ms and offset {taken}")
        rest = body[_LONGS.size :]
        return cls(read_ms, taken, TimerProgress.decode(rest) if rest else None)
