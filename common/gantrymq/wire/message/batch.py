r"""Encodes and decodes the body of SEND_BATCH_MESSAGE: messages of one topic, concatenated.

    part       totalSize 4 | magic 4 | bodyCRC 4 | flag 4 | bodyLength 4 | body
               | propertiesLength 2 | properties
    example    0000003a 00000000 00000000 00000000 00000006 626f64792030
               001e 4b455953 01 6b657930 02 ...             "body 0", KEYS=key0 ...

Senders leave magic and CRC zero, and receivers ignore them. Invariant of `decode`: the parts fill
the body to its last byte and each part's size is the sum of its fields. A batch with a wrong length
is refused as a whole, since everything after it is uncertain.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX

HEAD: Final = struct.Struct(">iiiii")
PROPERTIES_LENGTH: Final = struct.Struct(">h")
FIXED_BYTES: Final = 22

# Java has no bound; but each real part carries a unique key, 42 bytes, so a body of the default
# 4 MiB cannot hold more than this.
PARTS_MAX: Final = 65_536


@dataclass(frozen=True, slots=True)
class BatchPart:
    """One message of a batch; its other fields are in the request's header."""

    body: bytes
    flag: int = 0
    properties: bytes = b""


def encode(parts: Sequence[BatchPart]) -> bytes:
    if not parts:
        raise LocalError("a batch holds at least one message")
    chunks: list[bytes] = []
    for part in parts:
        length = len(part.properties)
        if length > PROPERTIES_BYTES_MAX:
            raise LocalError(f"properties of {length} bytes exceed {PROPERTIES_BYTES_MAX}")
        size = FIXED_BYTES + len(part.body) + length
        chunks += (
            HEAD.pack(size, 0, 0, part.flag, len(part.body)),
            part.body,
            PROPERTIES_LENGTH.pack(length),
            part.properties,
        )
    return b"".join(chunks)


def decode(body: bytes, parts_max: int = PARTS_MAX) -> list[BatchPart]:
    parts: list[BatchPart] = []
    position = 0
    limit = len(body)
    while position < limit:
        if len(parts) >= parts_max:
            raise RemoteError(f"the batch holds more than {parts_max} messages")
        if limit - position < FIXED_BYTES:
            raise RemoteError(f"the batch ends in {limit - position} bytes that are no message")
        size, _, _, flag, body_length = HEAD.unpack_from(body, position)
        body_start = position + HEAD.size
        body_end = body_start + body_length
        if body_length < 0 or body_end + 2 > limit:
            raise RemoteError(f"batch message at {position}: body length {body_length} is invalid")
        (properties_length,) = PROPERTIES_LENGTH.unpack_from(body, body_end)
        end = body_end + 2 + properties_length
        if properties_length < 0 or end > limit or end - position != size:
            raise RemoteError(
                f"batch message at {position}: size {size}, but its fields add up to "
                f"{end - position}, and {limit - position} bytes are left"
            )
        parts.append(BatchPart(body[body_start:body_end], flag, body[body_end + 2 : end]))
        position = end
    if not parts:
        raise RemoteError("the batch is empty")
    return parts
