"""Frames: a stream of bytes becomes commands, a command becomes bytes.

    int32 total = 4 + header length + body length
    int32 serialize type << 24 | header length           0: JSON, 1: binary
    header | body

The reader takes whole receive buffers. Frames that lie whole in one are read in place; one in
pieces is kept as a list of chunks that is joined once when it is complete. Each byte is copied a
bounded number of times however the peer cuts its stream.

`frame_length` and `decode_frame` know one frame in a buffer and nothing of the reader: whoever
else walks a receive buffer walks it by the same rules.

Invariant: the first thing that is no frame fails the reader for good, since nothing behind it can
be trusted to be where it seems. Commands in front of it are still handed out.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_be
from mypy_extensions import i64

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.base.limits import FRAME_BYTES_MAX, HEADER_BYTES_MAX
from gantrymq.wire import header_binary, header_json
from gantrymq.wire.command import Command

_PREFIX: Final = 8  # both int32 in front of the header
_HEADER_LENGTH_MAX: Final = 0xFFFFFF  # it travels in 24 bits
_TOTAL_MAX: Final = 0x7FFFFFFF
# A peer that sends a frame a byte a time must not make us keep an object for each: this many
# pieces are joined into one, at the cost of a second copy.
_PIECES_MAX: Final = 256
# What a piece takes however short it is.
_PIECE_BYTES: Final = 64


def frame_length(data: bytes, position: i64, frame_bytes_max: i64, header_bytes_max: i64) -> i64:
    """How long the frame is whose eight-byte prefix is at position; RemoteError when it is none."""
    total: i64 = int(read_i32_be(data, position))
    header: i64 = int(read_i32_be(data, position + 4)) & _HEADER_LENGTH_MAX
    serialize_type = data[position + 4]
    if serialize_type > 1:
        raise RemoteError(f"serialize type {serialize_type} is neither JSON (0) nor binary (1)")
    if total + 4 > frame_bytes_max:
        raise RemoteError(f"a frame of {total + 4} bytes; {frame_bytes_max} are allowed")
    if header > header_bytes_max:
        raise RemoteError(f"a header of {header} bytes; {header_bytes_max} are allowed")
    if total < 4 + header:
        raise RemoteError(
            f"length {total} of a frame is too small for its header of {header} bytes"
        )
    return total + 4


def decode_frame(data: bytes, position: i64, length: i64) -> Command:
    """The command in the frame of this length at position."""
    start = position + _PREFIX
    end = start + (int(read_i32_be(data, position + 4)) & _HEADER_LENGTH_MAX)
    if data[position + 4] == 0:
        command = header_json.decode(data, start, end)
    else:
        command = header_binary.decode(data, start, end)
    command.header_bytes = int(end - start)
    if end < position + length:
        command.body = data[end : position + length]
    return command


@final
class FrameReader:
    """Cuts one connection's stream into commands.

    Who wants to see whole frames first, before they become commands, calls `fill` while one is in
    pieces, and `feed` with what it does not take itself.

    To notice a frame that never ends, its owner looks after each `feed`: while `is_mid_frame`
    holds and a feed hands out nothing, it is still the same frame.
    """

    __slots__ = (
        "_buffered",
        "_chunks",
        "_frame_bytes_max",
        "_header_bytes_max",
        "_pieces",
        "_wanted",
        "failure",
        "filled",
    )

    def __init__(
        self, frame_bytes_max: int = FRAME_BYTES_MAX, header_bytes_max: int = HEADER_BYTES_MAX
    ) -> None:
        self._frame_bytes_max: i64 = i64(frame_bytes_max)  # whole frames, length word included
        self._header_bytes_max: i64 = i64(header_bytes_max)
        self._chunks: list[bytes] = []
        self._pieces: list[bytes] = []  # the newest ones, not yet joined into a chunk
        self._buffered: i64 = 0
        self._wanted: i64 = _PREFIX  # of the frame in pieces; its prefix is wanted first
        self.failure: RemoteError | None = None
        self.filled: int = 0
        """Bytes that the last `fill` took."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes kept of a frame that is not complete."""
        return int(self._buffered)

    @property
    def held_bytes(self) -> int:
        """The memory that they take: the shortest pieces are much smaller than their objects."""
        return int(max(self._buffered, _PIECE_BYTES * len(self._pieces)))

    @property
    def is_mid_frame(self) -> bool:
        """Whether a frame has begun and not ended."""
        return self._buffered > 0

    def feed(self, data: bytes) -> list[Command]:
        """The commands that these bytes complete; nothing any more once `failure` is set."""
        commands: list[Command] = []
        if self.failure is not None:
            return commands
        try:
            self._read(data, commands)
        except RemoteError as error:
            self.failure = error
            self._forget()
        return commands

    def fill(self, data: bytes) -> bytes:
        """The frame in pieces, when these bytes complete it; empty when they do not, or when it
        turns out to be none."""
        self.filled = len(data)
        if self.failure is not None:
            return b""
        try:
            return self._fill(data)
        except RemoteError as error:
            self.failure = error
            self._forget()
            return b""

    def _read(self, data: bytes, commands: list[Command]) -> None:
        position: i64 = 0
        end: i64 = len(data)
        if self._buffered > 0:
            whole = self._fill(data)
            position = self.filled
            if whole:
                commands.append(decode_frame(whole, 0, len(whole)))
        while end - position >= _PREFIX:
            length = frame_length(data, position, self._frame_bytes_max, self._header_bytes_max)
            if end - position < length:
                self._wanted = length
                break
            commands.append(decode_frame(data, position, length))
            position += length
        if position < end:
            self._keep(data[position:])

    def _fill(self, data: bytes) -> bytes:
        """Give the frame in pieces what it lacks, of which `filled` tells the size."""
        position: i64 = 0
        end: i64 = len(data)
        whole = b""
        while self._buffered > 0 and position < end:
            taken = min(self._wanted - self._buffered, end - position)
            self._keep(data[position : position + taken])
            position += taken
            if self._buffered < self._wanted:
                break
            joined = b"".join(self._chunks + self._pieces)
            self._forget()
            length = frame_length(joined, 0, self._frame_bytes_max, self._header_bytes_max)
            if length > len(joined):  # that was the prefix
                self._wanted = length
                self._keep(joined)
            else:
                whole = joined
        self.filled = int(position)
        return whole

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._buffered += len(piece)
        if len(self._pieces) == _PIECES_MAX:
            self._chunks.append(b"".join(self._pieces))
            self._pieces.clear()

    def forget(self) -> None:
        """Give up the frame in pieces: the connection is gone, its objects may stay for a while."""
        self._forget()

    def _forget(self) -> None:
        self._chunks.clear()
        self._pieces.clear()
        self._buffered = 0
        self._wanted = _PREFIX


def encode(command: Command) -> bytes:
    """The frame of a command."""
    return b"".join(encode_parts(command))


def encode_parts(command: Command) -> list[bytes]:
    """The frame of a command in pieces, so that its body need not be copied."""
    if command.encoding == 0:
        header = header_json.encode(command)
    elif command.encoding == 1:
        header = header_binary.encode(command)
    else:
        raise LocalError(f"encoding {command.encoding} is neither JSON (0) nor binary (1)")
    body = command.body
    total = 4 + len(header) + len(body)
    if len(header) > _HEADER_LENGTH_MAX or total > _TOTAL_MAX:
        raise LocalError(f"{len(header)} bytes of header, {len(body)} of body: no frame holds that")
    prefix = (total << 32 | command.encoding << 24 | len(header)).to_bytes(_PREFIX, "big")
    return [prefix, header, body] if body else [prefix, header]
