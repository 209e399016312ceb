"""Encodes commands as frames, and decodes a byte stream into commands.

    int32 total = 4 + header length + body length
    int32 serialize type << 24 | header length           0: JSON, 1: binary
    header | body

The reader takes whole receive buffers. Frames that lie entirely in one buffer are read in place; a
frame that spans buffers is kept as a list of chunks and joined once it is complete. Each byte is
copied a bounded number of times however the peer splits its stream.

`frame_length` and `decode_frame` work on one frame in a buffer and do not need the reader, so other
code that walks a receive buffer uses the same rules.

Invariant: the first invalid frame fails the reader permanently, since the position of everything
after it is uncertain. Commands before it are still returned.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_be
from mypy_extensions import i64

from gantrymq.base.bounds import FRAME_BYTES_MAX, HEADER_BYTES_MAX
from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire import header_binary, header_json
from gantrymq.wire.command import Command

_PREFIX: Final = 8  # both int32 before the header
_HEADER_LENGTH_MAX: Final = 0xFFFFFF  # it has 24 bits on the wire
_TOTAL_MAX: Final = 0x7FFFFFFF
# A peer that sends a frame byte by byte must not cause an object for each byte: this many pieces
# are joined into one, at the cost of a second copy.
_PIECES_MAX: Final = 256
# The memory of a piece, however short it is.
_PIECE_BYTES: Final = 64


def frame_length(data: bytes, position: i64, frame_bytes_max: i64, header_bytes_max: i64) -> i64:
    """The length of the frame whose eight-byte prefix is at position; RemoteError if invalid."""
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
    """Decode the frame of this length at position."""
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
    """Splits one connection's stream into commands.

    A caller that wants to see whole frames before they are decoded calls `fill` while a frame is
    incomplete, and `decode` with the data that it does not handle itself.

    To detect a frame that never ends, the owner checks after each `decode`: while `is_mid_frame` is
    true and `decode` returns nothing, it is still the same frame.
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
        self._wanted: i64 = _PREFIX  # length of the incomplete frame; first that of its prefix
        self.failure: RemoteError | None = None
        self.filled: int = 0
        """The number of bytes that the last `fill` took."""

    @property
    def buffered_bytes(self) -> int:
        """The bytes kept of an incomplete frame."""
        return int(self._buffered)

    @property
    def held_bytes(self) -> int:
        """The memory that they take: the shortest pieces are much smaller than their objects."""
        return int(max(self._buffered, _PIECE_BYTES * len(self._pieces)))

    @property
    def is_mid_frame(self) -> bool:
        """Whether a frame is incomplete."""
        return self._buffered > 0

    def decode(self, data: bytes) -> list[Command]:
        """The commands that these bytes complete; none once `failure` is set."""
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
        """The incomplete frame, if these bytes complete it; empty if they do not, or if it is
        invalid."""
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
        """Add missing bytes to the incomplete frame; sets `filled`. Returns it when complete."""
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
            if length > len(joined):  # only the prefix was complete
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
        """Drop the incomplete frame: the connection has ended, but its objects may live on."""
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
