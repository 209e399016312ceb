"""Reads and writes the list of deleted topics of which the log still has records.

    gantry/deleted   "GFD1" | crc32 of the rest 4 | topics
    topic            8 bytes each: end of the log at the deletion, store timestamp of its last
                     record | bytes of its name 2 | name, UTF-8

A record of the topic is deleted if it lies below that end and is not newer than that record. After
a crash has shortened the log, the time tells records apart that another broker wrote there.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.disk import Disk
from gantrymq.store.files import atomic_file
from gantrymq.store.layout import OWN, StoreRefusedError

PATH: Final = f"{OWN}/deleted"
MAGIC: Final = b"GFD1"

# Twice the size of the longest list: the most topics, with the longest names.
FILE_BYTES_MAX: Final = 64 << 20

_CRC: Final = struct.Struct(">I")
_TOPIC: Final = struct.Struct(">2qH")


@final
@dataclass(frozen=True, slots=True)
class Deleted:
    """Which records of a topic were deleted."""

    position: int
    store_timestamp_ms: int

    def covers(self, position: int, store_timestamp_ms: int) -> bool:
        """Whether a record of the topic with this position and time was deleted with it."""
        return position < self.position and store_timestamp_ms <= self.store_timestamp_ms


def encode(topics: Mapping[str, Deleted]) -> bytes:
    pieces = []
    for topic, each in topics.items():
        name = topic.encode("utf-8", "surrogatepass")
        pieces += [_TOPIC.pack(each.position, each.store_timestamp_ms, len(name)), name]
    body = b"".join(pieces)
    return MAGIC + _CRC.pack(zlib.crc32(body)) + body


def decode(data: bytes) -> dict[str, Deleted]:
    """Decode the list. StoreRefusedError if it is damaged, for then its content is unknown."""
    body = data[8:]
    if data[:8] != MAGIC + _CRC.pack(zlib.crc32(body)):
        raise StoreRefusedError(
            f"{PATH} is damaged: it tells which topics were deleted; restore it from a copy, or "
            "remove it, when old messages of such topics may come back in the place of new ones"
        )
    topics = {}
    position = 0
    while position < len(body):
        *numbers, size = _TOPIC.unpack_from(body, position)
        position += _TOPIC.size
        name = body[position : position + size].decode("utf-8", "surrogatepass")
        topics[name] = Deleted(*numbers)
        position += size
    return topics


def read(disk: Disk) -> dict[str, Deleted]:
    """The list in the file; empty if there is no file."""
    data = atomic_file.content(disk, PATH, FILE_BYTES_MAX)
    return {} if data is None else decode(data)
