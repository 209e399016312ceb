"""Makes the Arrow array of each column from the stored messages of one buffer."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gantrymq.base.errors import CorruptionError, RemoteError
from gantrymq.spark.columns import BINARY, INT, LONG, STRING, TIMESTAMP
from gantrymq.spark.frames.arrays import (
    POSITION_BYTES,
    binary_array,
    offsets_of,
    repeated_array,
    taken,
)
from gantrymq.spark.frames.stored import (
    HOST_BYTES_V4,
    HOST_BYTES_V6,
    Bytes,
    Int64s,
    StoredFrames,
)
from gantrymq.wire import hosts
from gantrymq.wire.message import compression, offset_id, property_names
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message.frame_properties import (
    ENTRY_POSITIONS,
    VALUE_POSITIONS,
    property_entries,
    value_positions,
)
from gantrymq.wire.message.frame_walk import (
    BODY_SLOT,
    PROPERTIES_SLOT,
    SLOTS,
    TOPIC_SLOT,
    check_bodies,
    parts,
)
from gantrymq.wire.message.sys_flag import COMPRESSED

if TYPE_CHECKING:
    from gantrymq.spark.frames.arrays import AnyArray

# A compressed body is refused if its decompressed size would be larger than this.
BODY_BYTES_MAX: Final = 256 << 20

# The most cached texts of hosts: more than the producers of most topics, and under a megabyte.
_HOSTS_MAX: Final = 4096

# Of the four pieces of an entry.
_VALUE_OF_ENTRY: Final = 2

_MICROSECONDS_A_MILLISECOND: Final = 1000


# ---------------------------------------------------------------------- numbers and times


def ints(frames: StoredFrames, name: str) -> AnyArray:
    """A 32-bit field before the hosts."""
    return pa.array(frames.head(name).astype(np.int32), INT)


def longs(frames: StoredFrames, name: str) -> AnyArray:
    """A 64-bit field before the hosts."""
    return pa.array(frames.head(name).astype(np.int64), LONG)


def reconsume_times(frames: StoredFrames) -> AnyArray:
    """How often each message was given back."""
    return pa.array(frames.reconsume_times(), INT)


def born_timestamps(frames: StoredFrames) -> AnyArray:
    """When producers made the messages."""
    return _timestamps(frames.head("bornTimestamp").astype(np.int64))


def store_timestamps(frames: StoredFrames) -> AnyArray:
    """When the broker stored the messages."""
    return _timestamps(frames.store_timestamps())


def _timestamps(milliseconds: Int64s) -> AnyArray:
    return pa.array(milliseconds * _MICROSECONDS_A_MILLISECOND, LONG).view(TIMESTAMP)


# ---------------------------------------------------------------------- topic, body, hosts


def topics(frames: StoredFrames) -> AnyArray:
    """The topics of the queues in which the messages are stored."""
    return _parts(frames, STRING, TOPIC_SLOT)


def bodies(frames: StoredFrames) -> AnyArray:
    """The bodies as they were sent."""
    check_bodies(frames.buffer, frames.frames)
    if frames.frames.sys_flags & COMPRESSED:
        return _inflated_bodies(frames)
    return _parts(frames, BINARY, BODY_SLOT)


def _parts(frames: StoredFrames, kind: pa.DataType, slot: int) -> AnyArray:
    numbers = np.arange(slot, frames.count * SLOTS, SLOTS)
    return taken(kind, frames.buffer, frames.frames.slots, numbers)


def _inflated_bodies(frames: StoredFrames) -> AnyArray:
    stored = parts(frames.buffer, frames.frames, BODY_SLOT)
    flags, offsets = frames.head("sysFlag").tolist(), frames.head("queueOffset").tolist()
    plain = []
    for each, bits, offset in zip(stored, flags, offsets, strict=True):
        try:
            plain.append(_inflated(each, bits))
        except RemoteError as error:
            raise RemoteError(f"message {offset}: {error}") from error
    return binary_array(plain)


def _inflated(body: bytes, bits: int) -> bytes:
    kind = compression.of(bits)
    return body if kind is None else compression.decompress(kind, body, BODY_BYTES_MAX)


def born_hosts(frames: StoredFrames) -> AnyArray:
    """The producers' addresses."""
    return _host_texts(*frames.born_hosts())


def store_hosts(frames: StoredFrames) -> AnyArray:
    """The addresses of the brokers that stored the messages."""
    return _host_texts(*frames.store_hosts())


def _host_texts(packed: Bytes, is_v6: NDArray[np.bool_]) -> AnyArray:
    """Return hosts as texts. Neighbours mostly have equal hosts, which are formatted once."""
    if len(packed) == 0:
        return pa.array([], STRING)
    is_new = np.ones(len(packed), np.bool_)
    is_new[1:] = (packed[1:] != packed[:-1]).any(axis=1) | (is_v6[1:] != is_v6[:-1])
    places = np.flatnonzero(is_new)
    widths = np.where(is_v6[places], HOST_BYTES_V6, HOST_BYTES_V4).tolist()
    texts = [
        _host_text(packed[place, :width].tobytes())
        for place, width in zip(places.tolist(), widths, strict=True)
    ]
    return repeated_array(texts, (np.cumsum(is_new) - 1).astype(np.int32))


@lru_cache(maxsize=_HOSTS_MAX)
def _host_text(packed: bytes) -> str | None:
    """Return the host as text; None if its port is invalid."""
    try:
        return hosts.text(packed)
    except RemoteError:
        return None


# ---------------------------------------------------------------------- properties


def keys(frames: StoredFrames) -> AnyArray:
    """The keys as stored: separated by blanks."""
    return _property(frames, property_names.KEYS)


def tags(frames: StoredFrames) -> AnyArray:
    """The tags."""
    return _property(frames, property_names.TAGS)


def unique_keys(frames: StoredFrames) -> AnyArray:
    """The ids that clients gave."""
    return _property(frames, property_names.UNIQ_KEY)


def message_ids(frames: StoredFrames) -> AnyArray:
    """The ids that clients gave, or where the messages lie for those without."""
    unique = unique_keys(frames)
    if unique.null_count == 0:
        return unique
    packed, is_v6 = frames.store_hosts()
    offsets = frames.head("commitLogOffset").tolist()
    ids = unique.to_pylist()
    for at in [at for at, each in enumerate(ids) if each is None]:
        if offsets[at] < 0:
            number = int(frames.head("queueOffset")[at])
            raise CorruptionError(f"message {number}: its commit log offset is {offsets[at]}")
        width = HOST_BYTES_V6 if is_v6[at] else HOST_BYTES_V4
        ids[at] = offset_id.encode(packed[at, :width].tobytes(), offsets[at])
    return pa.array(ids, STRING)


def properties_map(frames: StoredFrames) -> AnyArray:
    """All properties, names to values."""
    entries = property_entries(frames.buffer, frames.frames)
    positions = entries.positions
    firsts = np.arange(0, len(positions) // POSITION_BYTES - 1, ENTRY_POSITIONS)
    if entries.repeated:
        firsts = np.delete(firsts, entries.repeated)
    offsets = pa.array(offsets_of(np.frombuffer(entries.counts, "<i4")))
    names = taken(STRING, frames.buffer, positions, firsts)
    values = taken(STRING, frames.buffer, positions, firsts + _VALUE_OF_ENTRY)
    # The stubs know 64-bit offsets only; Spark's arrays have those of 32 bits.
    found: AnyArray = pa.MapArray.from_arrays(offsets, names, values)  # type: ignore[call-overload]
    return found


def properties_json(frames: StoredFrames) -> AnyArray:
    """All properties as the text of a JSON object."""
    stored = parts(frames.buffer, frames.frames, PROPERTIES_SLOT)
    texts = [json.dumps(codec.parse(each), ensure_ascii=False) for each in stored]
    return pa.array(texts, STRING)


def _property(frames: StoredFrames, name: str) -> AnyArray:
    """Return a property of each message. It is kept, because message ids are mostly unique keys."""
    kept = frames.kept.get(name)
    if kept is None:
        positions = value_positions(frames.buffer, frames.frames, name)
        places = np.frombuffer(positions, "<i4")
        is_absent = places[1::VALUE_POSITIONS] == places[:-1:VALUE_POSITIONS]
        numbers = np.arange(0, len(places) - 1, VALUE_POSITIONS)
        kept = taken(STRING, frames.buffer, positions, numbers, is_absent)
        frames.kept[name] = kept
    return kept
