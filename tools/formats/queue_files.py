"""Describes consume queues, index files, and what Gantry notes about queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.store.consumequeue import queue_snapshot, replaced_queues
from gantrymq.store.consumequeue.queue_unit import BLANK, UNIT_BYTES
from gantrymq.store.consumequeue.replaced_queues import ReplacedQueues
from gantrymq.store.index.index_file import ENTRY_BYTES, HEADER_BYTES, SLOT_BYTES
from gantrymq.testing.memory_disk import MemoryDisk
from tools.formats import specimen
from tools.formats.checked_file import HEAD
from tools.formats.layout import Example, Field, Part, Piece

QUEUE_FILE: Final = "consumequeue/Orders/1/00000000000000000000"
INDEX_FILE: Final = f"index/{specimen.INDEX_NAME}"

UNIT: Final = Part(
    "unit",
    (
        Field("physical offset", "int64", "position of the record in the commit log"),
        Field("size", "int32", "bytes of the record"),
        Field(
            "tags code", "int64", "Java hash of the tag, or delivery time of a delayed message, ms"
        ),
    ),
)

INDEX_HEADER: Final = Part(
    "header",
    (
        Field("begin timestamp", "int64", "store time of the first entry's record, milliseconds"),
        Field("end timestamp", "int64", "store time of the last entry's record"),
        Field("begin physical offset", "int64", "position of the first entry's record"),
        Field("end physical offset", "int64", "position of the last entry's record"),
        Field("hash slot count", "int32", "slots in use"),
        Field("index count", "int32", "number of the next entry; entry 0 is never used"),
    ),
)
INDEX_SLOT: Final = Part("slot", (Field("newest entry", "int32", "its number, 0 for none"),))
INDEX_ENTRY: Final = Part(
    "entry",
    (
        Field("key hash", "int32", "Java hash of `topic#key`, made positive"),
        Field("physical offset", "int64", "position of the record"),
        Field("seconds", "int32", "store time, seconds since the begin timestamp"),
        Field("previous entry", "int32", "the slot's entry before this one, 0 for none"),
    ),
)

STAMP: Final = Part(
    "stamp",
    (
        Field("log start", "int64", "first position of the commit log"),
        Field("log end", "int64", "position behind the last record"),
        Field("queue file size", "int64", "bytes of a consume queue file"),
        Field("checkpoint time", "int64", "modification time of `checkpoint`, ms; -1: no file"),
        Field("checkpoint", "bytes", "the first 40 bytes of `checkpoint`", 40),
        Field("topic count", "uint32", "topics that follow"),
    ),
)
SNAPSHOT_TOPIC: Final = Part(
    "topic",
    (
        Field("name length", "uint16", "n"),
        Field("name", "text", "UTF-8", "n"),
        Field("queue count", "uint32", "queues that follow"),
        Field("folder time", "int64", "modification time of the topic's folder, ms; -1: unknown"),
    ),
)
SNAPSHOT_QUEUE: Final = Part(
    "queue",
    (
        Field("queue id", "int32", ""),
        Field("start", "int64", "number of the first unit in the files"),
        Field("files end", "int64", "number of the unit behind the last file"),
        Field("end", "int64", "number of the next unit"),
        Field("physical end", "int64", "where the newest unit's record ends in the log"),
        Field("minimum", "int64", "first unit that consumers see"),
        Field("minimum physical", "int64", "the log position that `minimum` was computed for"),
    ),
)

NOTE_HEAD: Final = Part("magic", (Field("magic", "text", "`GFR1`", 4),))
NOTE: Final = Part(
    "note",
    (
        Field("CRC", "hex32", "CRC-32 of the rest of the note"),
        Field("name length", "uint16", "n"),
        Field("queue id", "uint32", ""),
        Field("position", "int64", "log position of the message that begins the queue anew"),
        Field("name", "text", "the topic, UTF-8", "n"),
    ),
)


def unit_example() -> Sequence[str]:
    """The two units of the store's queue, and the next place of the file."""
    data = specimen.content(QUEUE_FILE)[: 3 * UNIT_BYTES]
    free = Part("free place", (Field("no unit yet", "bytes", "", "u"),))
    pieces = [Piece(UNIT), Piece(UNIT), Piece(free, {"u": UNIT_BYTES})]
    return [*Example(data, pieces).lines()]


def blank_unit_example() -> Sequence[str]:
    """A unit for a message that the queue never had."""
    return [*Example(BLANK, [Piece(UNIT)]).lines()]


def index_example() -> Sequence[str]:
    """The store's index file: its sizes are maxHashSlotNum=4 and maxIndexNum=6."""
    data = specimen.content(INDEX_FILE)
    slots, entries = specimen.SETTINGS.max_hash_slot_num, specimen.SETTINGS.max_index_num
    assert len(data) == HEADER_BYTES + slots * SLOT_BYTES + entries * ENTRY_BYTES
    free = Part("free entries", (Field("not used yet", "bytes", "", "f"),))
    used = [Piece(Part(f"entry {number}", INDEX_ENTRY.fields)) for number in range(3)]
    pieces = [
        Piece(INDEX_HEADER),
        *[Piece(Part(f"slot {number}", INDEX_SLOT.fields)) for number in range(slots)],
        *used,
        Piece(free, {"f": (entries - len(used)) * ENTRY_BYTES}),
    ]
    return [*Example(data, pieces).lines()]


def snapshot_example() -> Sequence[str]:
    """The snapshot that the clean stop of the store left."""
    pieces = [
        Piece(HEAD),
        Piece(STAMP),
        Piece(SNAPSHOT_TOPIC, {"n": len("Orders")}),
        Piece(SNAPSHOT_QUEUE),
    ]
    return [*Example(specimen.content(queue_snapshot.PATH), pieces).lines()]


def replaced_example() -> Sequence[str]:
    """The note of one queue."""
    disk = MemoryDisk()
    ReplacedQueues(disk).note("Orders", 1, 73216)
    data = specimen.content_on(disk, replaced_queues.PATH)
    return [*Example(data, [Piece(NOTE_HEAD), Piece(NOTE, {"n": len("Orders")})]).lines()]
