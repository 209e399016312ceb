"""Encodes and decodes the replication protocol between members of a group; numbers are big endian.

    opening      each side's first 8 bytes: ff "Gantry" 01
    frame        kind 1 | size of the body 4 | body

    sent by the follower                   sent by the master

    H hello      JSON                      C challenge  JSON
    P proof      32 bytes                  W welcome    JSON
    J joining    JSON                      R refusal    JSON
    A report     8 received | 8 flushed    D data       8 position | the log's bytes from there on
                 | 8 promised | 8 stored   B beat       8 epoch | 8 end | 8 safe | 8 asked
                 | 1 leaving 1, refusing 2
                                           T table      8 number | 2 size of its name | name
                                                        | content

RocketMQ's slaves and masters begin with a position. Read as a position the opening is negative, so
it cannot come from such a peer, and none accepts it as a position.

Reports and pieces of the log occur in each turn, and so are tuples here: a dataclass takes several
times as long to create.

Invariant: a frame is passed on complete, and only if its kind was expected and its size is allowed;
the log's bytes are the exception and are passed on as they arrive. An unexpected frame is refused
by its header: a peer that has not proved itself cannot make this process buffer megabytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, final

OPENING: Final = b"\xffGantry\x01"

_HEAD: Final = struct.Struct(">cI")
_POSITION: Final = struct.Struct(">q")
_REPORT: Final = struct.Struct(">4qB")
_LEAVING: Final = 1
_REFUSING: Final = 2
_BEAT: Final = struct.Struct(">4q")
_TABLE: Final = struct.Struct(">qH")


class Kind(Enum):
    """The kinds of frames; the values are their first bytes."""

    HELLO = b"H"
    PROOF = b"P"
    JOINING = b"J"
    REPORT = b"A"
    CHALLENGE = b"C"
    WELCOME = b"W"
    REFUSAL = b"R"
    DATA = b"D"
    BEAT = b"B"
    TABLE = b"T"


# More than any broker has; only a peer that has proved itself can send a table.
TABLE_BYTES_MAX: Final = 1 << 30

# The minimum and maximum sizes of the bodies. An epoch takes some 20 bytes of text.
_BYTES: Final = {
    Kind.HELLO: (2, 1 << 12),
    Kind.PROOF: (32, 32),
    Kind.JOINING: (2, 1 << 25),
    Kind.REPORT: (_REPORT.size, _REPORT.size),
    Kind.CHALLENGE: (2, 1 << 12),
    Kind.WELCOME: (2, 1 << 25),
    Kind.REFUSAL: (2, 1 << 25),
    Kind.DATA: (_POSITION.size + 1, 4 << 20),
    Kind.BEAT: (_BEAT.size, _BEAT.size),
    Kind.TABLE: (_TABLE.size, TABLE_BYTES_MAX),
}
_KINDS: Final = {kind.value: (kind, *_BYTES[kind]) for kind in Kind}
_NO_KIND: Final = (Kind.HELLO, 0, -1)
"""No size is valid."""
_DATA: Final = Kind.DATA.value


@final
class Report(NamedTuple):
    """The state of a follower: the ends of its log and of its flushed log; the last question of the
    master that it has answered with a promise not to seek the lease; the number of the last table
    that it has flushed with all before it; 0 is none. A follower that is leaving asks to be removed
    from the in-sync set, and goes on as before until the master closes the connection. A follower
    that is refusing could not accept messages as master."""

    received: int
    flushed: int
    promised: int = 0
    stored: int = 0
    is_leaving: bool = False
    is_refusing: bool = False


@final
@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A heartbeat of the master: the end of its log, the position up to which consumers may read,
    and the number of its last question for a promise (`asked`), which rises."""

    epoch: int
    end: int
    safe: int
    asked: int


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A metadata table, which replaces the one of the same name. On each connection the numbers
    rise by one from 1 on."""

    number: int
    name: str
    content: bytes


@final
class Data(NamedTuple):
    """A piece of the log."""

    position: int
    data: bytes


@final
@dataclass(frozen=True, slots=True)
class HandshakeFrame:
    """A handshake frame; handshake.py interprets the body."""

    kind: Kind
    body: bytes


Frame = Report | Heartbeat | Table | Data | HandshakeFrame


def encode_data_head(position: int, size: int) -> bytes:
    """The header before log bytes of this size."""
    return _HEAD.pack(_DATA, _POSITION.size + size) + _POSITION.pack(position)


def encode_table_head(number: int, name: str, size: int) -> bytes:
    """The header before a table's content."""
    text = name.encode()
    body = _TABLE.pack(number, len(text)) + text
    return _HEAD.pack(Kind.TABLE.value, len(body) + size) + body


def encode(frame: Report | Heartbeat | HandshakeFrame) -> bytes:
    """The bytes of a small frame; the log's bytes and tables are sent without copying them."""
    if isinstance(frame, Report):
        numbers = (frame.received, frame.flushed, frame.promised, frame.stored)
        flags = _LEAVING * frame.is_leaving | _REFUSING * frame.is_refusing
        return _framed(Kind.REPORT, _REPORT.pack(*numbers, flags))
    if isinstance(frame, Heartbeat):
        return _framed(Kind.BEAT, _BEAT.pack(frame.epoch, frame.end, frame.safe, frame.asked))
    return _framed(frame.kind, frame.body)


def _framed(kind: Kind, body: bytes) -> bytes:
    return _HEAD.pack(kind.value, len(body)) + body


def _report(body: bytes) -> Report:
    received, flushed, promised, stored, flags = _REPORT.unpack(body)
    is_leaving, is_refusing = bool(flags & _LEAVING), bool(flags & _REFUSING)
    return Report(received, flushed, promised, stored, is_leaving, is_refusing)


@final
class MemberReader:
    """Decodes the frames of one side from pieces of any size."""

    __slots__ = (
        "_coming",
        "_expected",
        "_held",
        "_kind",
        "_left",
        "_position",
        "_then",
        "_wanted",
        "failure",
    )

    def __init__(self, *expected: Kind) -> None:
        self._coming = 0
        self._expected = expected
        self._held = bytearray()
        self._kind = Kind.HELLO
        self._left = 0
        self._position = 0
        self._then: Callable[[bytes], Frame | None] = self._opened
        self._wanted = len(OPENING)
        self.failure = ""
        """Why decoding stopped; "" if there was no error."""

    def expect(self, *kinds: Kind) -> None:
        """Accept only these kinds, from the next frame on."""
        self._expected = kinds

    def decode(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete, and the log's bytes that have arrived. The caller iterates
        to the end, or until it closes the connection."""
        at = 0
        while at < len(data) and not self.failure:
            if self._left:
                piece = data[at : at + self._left]
                at += len(piece)
                begin = self._position
                self._position += len(piece)
                self._left -= len(piece)
                yield Data(begin, piece)
            else:
                piece = data[at : at + self._wanted - len(self._held)]
                at += len(piece)
                frame = self._hold(piece)
                if frame is not None:
                    yield frame

    def _hold(self, piece: bytes) -> Frame | None:
        """Buffer bytes until the wanted number is complete."""
        if self._held or len(piece) < self._wanted:
            self._held += piece
            if len(self._held) < self._wanted:
                return None
            piece = bytes(self._held)
            self._held.clear()
        return self._then(piece)

    def _want(self, size: int, then: Callable[[bytes], Frame | None]) -> None:
        self._wanted, self._then = size, then

    def _opened(self, data: bytes) -> None:
        if data != OPENING:
            self.failure = (
                f"the connection begins with {data.hex(' ')}, not with {OPENING.hex(' ')}"
            )
        self._want(_HEAD.size, self._headed)

    def _headed(self, data: bytes) -> None:
        first, size = _HEAD.unpack(data)
        kind, least, most = _KINDS.get(first, _NO_KIND)
        if not least <= size <= most:
            self.failure = f"invalid frame of kind {first!r} and {size} bytes"
        elif kind not in self._expected:
            self.failure = f"unexpected frame {kind.name.lower()}"
        elif kind is Kind.DATA:
            self._coming = size - _POSITION.size
            self._want(_POSITION.size, self._placed)
        else:
            self._kind = kind
            self._want(size, self._complete)

    def _placed(self, data: bytes) -> None:
        (self._position,) = _POSITION.unpack(data)
        self._left = self._coming
        self._want(_HEAD.size, self._headed)

    def _complete(self, body: bytes) -> Frame | None:
        self._want(_HEAD.size, self._headed)
        match self._kind:
            case Kind.REPORT:
                return _report(body)
            case Kind.BEAT:
                return Heartbeat(*_BEAT.unpack(body))
            case Kind.TABLE:
                return self._table(body)
            case kind:
                return HandshakeFrame(kind, body)

    def _table(self, body: bytes) -> Table | None:
        number, size = _TABLE.unpack_from(body)
        begin = _TABLE.size + size
        try:
            name = body[_TABLE.size : begin].decode()
        except UnicodeDecodeError:
            name = ""
        if not name or len(body) < begin:
            self.failure = "a table without a name"
            return None
        return Table(number, name, body[begin:])
