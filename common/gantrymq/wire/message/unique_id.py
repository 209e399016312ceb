"""Makes and decodes UNIQ_KEY, the id that a client gives a message; also its transaction id.

    bytes      address, 4 or 16 | pid, low 16 bits | salt, 4 | elapsed ms, uint32 | counter, uint16
    text       upper-case hex, 32 characters (IPv4) or 56 (IPv6)
    example    FD00000000000000 0000000000000002 6396 30946E09 674CFF84 0000

`elapsed` counts from the first of the current month, 00:00 LOCAL time; the caller knows the time
zone and passes that moment. `salt` tells processes apart (in Java a class loader's hash). The
counter starts at zero and wraps, so ids are unique up to 65536 a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire.message import offset_id

# The bytes after the address: pid, salt, elapsed, counter.
TAIL_BYTES: Final = 12

_COUNTERS: Final = 1 << 16
_BYTES: Final = tuple(f"{number:02X}" for number in range(256))


@final
class UniqueIdMaker:
    """Makes the ids of one process. Hot: all but the counter is formatted once a millisecond."""

    __slots__ = ("_counter", "_elapsed_ms", "_prefix", "_start")

    def __init__(self, address: bytes, pid: int, salt: int) -> None:
        if len(address) not in {4, 16}:
            raise LocalError(f"an address has 4 or 16 bytes, not {len(address)}")
        self._prefix: str = f"{address.hex().upper()}{pid & 0xFFFF:04X}{salt & 0xFFFFFFFF:08X}"
        self._elapsed_ms: int = -1
        self._start: str = ""
        """The text before the counter."""
        self._counter: int = 0

    def make(self, now_ms: int, month_start_ms: int) -> str:
        """The next id. A clock before the month's start counts as the month's first moment."""
        elapsed_ms = max(0, now_ms - month_start_ms) & 0xFFFFFFFF
        if elapsed_ms != self._elapsed_ms:
            self._elapsed_ms = elapsed_ms
            self._start = f"{self._prefix}{elapsed_ms:08X}"
        counter = self._counter
        self._counter = (counter + 1) & 0xFFFF
        return self._start + _BYTES[counter >> 8] + _BYTES[counter & 0xFF]

    def make_many(self, count: int, now_ms: int, month_start_ms: int) -> list[str]:
        """The next ids, at most 65536: the one after would equal the first."""
        assert count <= _COUNTERS, "ids of one moment"
        made: list[str] = []
        if count <= 0:
            return made
        made.append(self.make(now_ms, month_start_ms))
        start = self._start
        counter = self._counter
        for _ in range(count - 1):
            made.append(start + _BYTES[counter >> 8] + _BYTES[counter & 0xFF])
            counter = (counter + 1) & 0xFFFF
        self._counter = counter
        return made


@dataclass(frozen=True, slots=True)
class UniqueId:
    """The fields of an id, which describe its maker."""

    address: bytes
    pid: int
    salt: int
    elapsed_ms: int
    counter: int

    def created_ms(self, now_ms: int, month_start_ms: int, previous_month_start_ms: int) -> int:
        """The likeliest time of creation: in this month, unless that is in the future."""
        created = month_start_ms + self.elapsed_ms
        return created if created <= now_ms else previous_month_start_ms + self.elapsed_ms


def decode(unique_id: str) -> UniqueId:
    if len(unique_id) not in {offset_id.TEXT_CHARS_V4, offset_id.TEXT_CHARS_V6}:
        raise RemoteError(f"a unique id has 32 or 56 characters, not {len(unique_id)}")
    if not offset_id.HEX_DIGITS.issuperset(unique_id):
        raise RemoteError(f"unique id {unique_id!r} is not hexadecimal")
    data = bytes.fromhex(unique_id)
    tail = data[-TAIL_BYTES:]
    return UniqueId(
        address=data[:-TAIL_BYTES],
        pid=int.from_bytes(tail[0:2], "big"),
        salt=int.from_bytes(tail[2:6], "big"),
        elapsed_ms=int.from_bytes(tail[6:10], "big"),
        counter=int.from_bytes(tail[10:12], "big"),
    )
