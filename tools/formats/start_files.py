"""Describes what a store keeps for its next start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.store.commitlog import log_truncation
from gantrymq.store.commitlog.log_truncation import TruncationRequest
from gantrymq.store.dispatch import deleted_topics
from gantrymq.store.dispatch.deleted_topics import Deleted
from gantrymq.store.files import checkpoint as checkpoint_file
from gantrymq.store.files import flush_positions
from gantrymq.store.sessions import snapshot
from gantrymq.store.sessions.snapshot import Snapshot
from gantrymq.store.sessions.table import SessionState
from gantrymq.testing.memory_disk import MemoryDisk
from tools.formats import specimen
from tools.formats.checked_file import HEAD
from tools.formats.layout import Example, Field, Part, Piece

CHECKPOINT: Final = Part(
    "numbers",
    (
        Field("physicMsgTimestamp", "int64", "store time of the last flushed record, ms"),
        Field("logicsMsgTimestamp", "int64", "up to this store time the queues are flushed"),
        Field("indexMsgTimestamp", "int64", "up to this store time the index is flushed"),
        Field("masterFlushedOffset", "int64", "RocketMQ 5 only; kept as found"),
        Field("confirmPhyOffset", "int64", "RocketMQ 5 only; kept as found"),
    ),
)
CHECKPOINT_SLOT: Final = Part(
    "slot",
    (
        Field("magic", "text", "`GFC1`", 4),
        Field("CRC", "hex32", "CRC-32 of the numbers that follow"),
        *CHECKPOINT.fields,
    ),
)

MARKS: Final = Part(
    "slot",
    (
        *HEAD.fields,
        Field("sequence", "int64", "the valid slot with the highest sequence counts"),
        Field("log mark", "int64", "the log below this position is on the disk"),
        Field("record start", "int64", "where the record that ends at the log mark begins"),
        Field("record time", "int64", "store timestamp of that record"),
        Field("queues mark", "int64", "units of all records below are on the disk"),
        Field("index mark", "int64", "keys of all records below are on the disk"),
        Field("queue count", "int64", "consume queues on the disk"),
        Field("index files", "int64", "index files on the disk"),
        Field("log file size", "int64", "mappedFileSizeCommitLog"),
        Field("queue file size", "int64", "bytes of a consume queue file"),
    ),
)

SESSIONS_HEAD: Final = Part(
    "copy",
    (
        Field("position", "int64", "the copy says what the log below tells"),
        Field("session count", "uint32", "sessions that follow"),
    ),
)
SESSION: Final = Part(
    "session",
    (
        Field("id length", "uint8", "n"),
        Field("id", "text", "of the producer session", "n"),
        Field("epoch", "int64", "of the session; a higher one fences lower ones"),
        Field("last number", "int64", "of the newest message that is stored"),
        Field("position", "int64", "where that message lies in the log"),
        Field("store time", "int64", "of that message, milliseconds"),
    ),
)

DELETED: Final = Part(
    "topic",
    (
        Field("position", "int64", "end of the log when the topic was deleted"),
        Field("store timestamp", "int64", "of the last record below that position, ms"),
        Field("name length", "uint16", "n"),
        Field("name", "text", "UTF-8", "n"),
    ),
)

CUT: Final = Part(
    "request",
    (
        Field("position", "int64", "cut the log at the end of the last whole record below"),
        Field("shared", "int64", "what lies below is in the new master's log as well"),
        Field("epoch", "int64", "epoch of the new master"),
    ),
)


def checkpoint_example() -> Sequence[str]:
    """The file of the store: the numbers and the two slots."""
    data = specimen.content("checkpoint")
    first, second = checkpoint_file.SLOT_POSITIONS
    slot_bytes = checkpoint_file.SLOT_BYTES
    gaps = (
        first - checkpoint_file.NUMBERS.size,
        second - first - slot_bytes,
        len(data) - second - slot_bytes,
    )
    zeros = [Piece(_zeros(), {"z": gap}) for gap in gaps]
    empty = data[second : second + 4] == bytes(4)
    second_slot = Piece(_zeros("slot 2, not written yet"), {"z": slot_bytes})
    pieces = [
        Piece(CHECKPOINT),
        zeros[0],
        Piece(Part("slot 1", CHECKPOINT_SLOT.fields)),
        zeros[1],
        second_slot if empty else Piece(Part("slot 2", CHECKPOINT_SLOT.fields)),
        zeros[2],
    ]
    return [*Example(data, pieces).lines()]


def _zeros(title: str = "gap") -> Part:
    return Part(title, (Field("zeros", "bytes", "", "z"),))


def marks_example() -> Sequence[str]:
    """The slot of the store's marks that counts."""
    data = specimen.content(flush_positions.PATH)
    slots = [
        (at, data[at : at + flush_positions.SLOT_BYTES]) for at in flush_positions.SLOT_POSITIONS
    ]
    known = [(slot.sequence, at) for at, raw in slots if (slot := flush_positions.decode_slot(raw))]
    _, at = max(known)
    return [*Example(data[at : at + flush_positions.SLOT_BYTES], [Piece(MARKS)], start=at).lines()]


def sessions_example() -> Sequence[str]:
    """A copy with one session."""
    state = SessionState(b"spark-7f3a", 2, 41, 73216, specimen.WALL_MS)
    data = snapshot.encode(Snapshot(73500, [state]))
    pieces = [Piece(HEAD), Piece(SESSIONS_HEAD), Piece(SESSION, {"n": len(state.session_id)})]
    return [*Example(data, pieces).lines()]


def deleted_example() -> Sequence[str]:
    """A list with one topic."""
    data = deleted_topics.encode({"Orders": Deleted(73216, specimen.WALL_MS)})
    return [*Example(data, [Piece(HEAD), Piece(DELETED, {"n": len("Orders")})]).lines()]


def cut_example() -> Sequence[str]:
    """The request of a member whose log is longer than its new master's."""
    disk = MemoryDisk()
    log_truncation.request(disk, TruncationRequest(73216, 0, 5))
    data = specimen.content_on(disk, log_truncation.PATH)
    return [*Example(data, [Piece(HEAD), Piece(CUT)]).lines()]
