"""Saves the state of all queues at a clean stop, so that the next start opens no queue.

    gantry/queues   "GFQ1" | crc32 of the rest 4 | stamp | number of topics 4 | topics
    stamp           and 8 bytes each: start of the log | its end | size of a queue file
                    | time the checkpoint file was modified, ms | its five numbers
    topic           bytes of its name 2 | name, UTF-8 | number of queues 4
                    | time its folder was modified 8, ms; -1: not all of its queues are here
    queue           id 4 | and 8 bytes each: start | files_end | end | physical_end | minimum
                    | minimum_physical

The numbers of a queue are those of consumequeue.py. The file is the last thing that a clean stop
writes: to another name, synced, renamed. It is used once: `take` and `Queues.load` remove it, and
sync that, before a queue can change, so that no later stop leaves an old one behind.

Another program may have used the directory in between. Java writes its checkpoint whenever it runs,
and the stamp has that file's time and numbers. If one differs, or if the snapshot is damaged, the
snapshot is void, and the queues are opened one by one. If an operator removed folders, the times of
their parent folders show it; `QueueDiscovery` compares those.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from gantrymq.base.disk import Disk
from gantrymq.store.files import atomic_file
from gantrymq.store.files.checkpoint import NUMBERS
from gantrymq.store.layout import CHECKPOINT, OWN

PATH: Final = f"{OWN}/queues"
MAGIC: Final = b"GFQ1"
UNKNOWN_MS: Final = -1

# Enough for five million queues; the store never writes a longer file.
FILE_BYTES_MAX: Final = 256 << 20

_CRC: Final = struct.Struct(">I")
_STAMP: Final = struct.Struct(f">4q{NUMBERS.size}s")
_COUNT: Final = struct.Struct(">I")
_NAME: Final = struct.Struct(">H")
_TOPIC: Final = struct.Struct(">Iq")
_QUEUE: Final = struct.Struct(">i6q")


@final
@dataclass(frozen=True, slots=True)
class Stamp:
    """The state of log and checkpoint that a snapshot belongs to."""

    log_start: int
    log_end: int
    file_bytes: int
    checkpoint_ms: int
    checkpoint: bytes


class QueueState(NamedTuple):
    """The numbers of one queue, see consumequeue.py."""

    queue_id: int
    start: int
    files_end: int
    end: int
    physical_end: int
    minimum: int
    minimum_physical: int


@final
@dataclass(frozen=True, slots=True)
class TopicState:
    """The queues of a topic, and the time its folder was modified. UNKNOWN_MS if some queues are
    left out, so that the folder must be listed."""

    name: str
    modified_ms: int
    queues: Sequence[QueueState]


def encode(stamp: Stamp, topics: Sequence[TopicState]) -> bytes:
    numbers = (stamp.log_start, stamp.log_end, stamp.file_bytes, stamp.checkpoint_ms)
    pieces = [_STAMP.pack(*numbers, stamp.checkpoint), _COUNT.pack(len(topics))]
    for topic in topics:
        name = topic.name.encode("utf-8", "surrogatepass")
        pieces += [_NAME.pack(len(name)), name, _TOPIC.pack(len(topic.queues), topic.modified_ms)]
        pieces += [_QUEUE.pack(*queue) for queue in topic.queues]
    body = b"".join(pieces)
    return MAGIC + _CRC.pack(zlib.crc32(body)) + body


def decode(data: bytes, stamp: Stamp) -> list[TopicState] | None:
    """None if the data are damaged, or have another stamp."""
    body = data[8:]
    if data[:8] != MAGIC + _CRC.pack(zlib.crc32(body)):
        return None
    numbers = (stamp.log_start, stamp.log_end, stamp.file_bytes, stamp.checkpoint_ms)
    if not body.startswith(_STAMP.pack(*numbers, stamp.checkpoint)):
        return None
    try:
        return _topics(body, _STAMP.size)
    except (struct.error, UnicodeDecodeError):
        return None


def _topics(body: bytes, position: int) -> list[TopicState] | None:
    """None if the topics do not fill the rest, or have impossible numbers."""
    (count,) = _COUNT.unpack_from(body, position)
    position += _COUNT.size
    topics = []
    for _ in range(count):
        (size,) = _NAME.unpack_from(body, position)
        position += _NAME.size
        name = body[position : position + size].decode("utf-8", "surrogatepass")
        position += size
        queue_count, modified_ms = _TOPIC.unpack_from(body, position)
        position += _TOPIC.size
        end = position + queue_count * _QUEUE.size
        queues = [QueueState(*each) for each in _QUEUE.iter_unpack(body[position:end])]
        if len(queues) != queue_count or not all(map(_is_sound, queues)):
            return None
        position = end
        topics.append(TopicState(name, modified_ms, queues))
    return topics if position == len(body) else None


def _is_sound(queue: QueueState) -> bool:
    in_order = 0 <= queue.start <= queue.minimum <= queue.end <= queue.files_end
    return queue.queue_id >= 0 and in_order and queue.physical_end >= 0


def stamp(disk: Disk, log_start: int, log_end: int, file_bytes: int) -> Stamp:
    """The stamp of the current state. The checkpoint must have been written."""
    times = [each.modified_ms for each in disk.list("") if each.name == CHECKPOINT]
    numbers = b""
    if times:
        file = disk.open(CHECKPOINT)
        try:
            numbers = file.read(0, NUMBERS.size)
        finally:
            file.close()
    checkpoint_ms = times[0] if times else UNKNOWN_MS
    return Stamp(log_start, log_end, file_bytes, checkpoint_ms, numbers.ljust(NUMBERS.size, b"\0"))


def save(disk: Disk, stamp: Stamp, topics: Iterable[TopicState]) -> None:
    """Write the snapshot, at the end of a clean stop. All queues are written and synced."""
    atomic_file.replace(disk, PATH, encode(stamp, list(topics)))


def take(disk: Disk, stamp: Stamp) -> list[TopicState] | None:
    """Remove the snapshot and return it if it has this stamp; else None."""
    data = atomic_file.content(disk, PATH, FILE_BYTES_MAX)
    if data is None:
        return None
    discard(disk)
    return decode(data, stamp)


def discard(disk: Disk) -> None:
    """Remove the snapshot, and sync that."""
    if atomic_file.remove(disk, PATH):
        disk.sync_folder(OWN)
