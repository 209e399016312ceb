"""Encodes the table `consumption`: in-flight messages and the offsets of groups, at one moment.

size 4 | in-flight messages of pops | size 4 | initial offsets of the next pops | offsets of groups
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, TypeAlias

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.tables.in_flight import Place
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, list_of, long_of, text_of

CONSUMPTION: Final = "consumption"

_SIZE: Final = struct.Struct(">I")

Offsets: TypeAlias = tuple[bytes, list[tuple[Place, int]]]
"""The table of offsets, and the queue offsets at which the next pops begin."""


def encode(in_flight: bytes, next_pops: Sequence[tuple[Place, int]], offsets: bytes) -> bytes:
    """Encode the content of the file of in-flight messages, where the next pops begin, and the
    content of the file of offsets."""
    places: Json = [[*place, offset] for place, offset in next_pops]
    begins = javajson.dumps_fastjson(places)
    return b"".join(
        (_SIZE.pack(len(in_flight)), in_flight, _SIZE.pack(len(begins)), begins, offsets)
    )


def decode(content: bytes) -> tuple[bytes, Offsets]:
    """Decode the in-flight messages and the offsets. Raises RemoteError for malformed content."""
    in_flight, rest = _sized(content)
    begins, offsets = _sized(rest)
    return in_flight, (offsets, _places(begins))


def _sized(content: bytes) -> tuple[bytes, bytes]:
    """Split off the first part, whose size comes before it. Returns it and the rest."""
    if len(content) < _SIZE.size:
        raise RemoteError(f"it ends {_SIZE.size - len(content)} bytes too early")
    (size,) = _SIZE.unpack_from(content)
    end = _SIZE.size + size
    return content[_SIZE.size : end], content[end:]


def _places(content: bytes) -> list[tuple[Place, int]]:
    """The offsets at which the next pops begin, for queues with in-flight messages."""
    size = len(content)
    places = []
    value = javajson.loads(content, size, values_max=size, dialect_values_max=size)
    for each in list_of(value, CONSUMPTION):
        group, topic, queue_id, offset = list_of(each, CONSUMPTION)
        place = (
            text_of(group, CONSUMPTION),
            text_of(topic, CONSUMPTION),
            long_of(queue_id, CONSUMPTION),
        )
        places.append((place, long_of(offset, CONSUMPTION)))
    return places
