r"""Encodes one message of a bulk send.

    part          the layout of wire/message/batch.py
    properties    name \x01 value \x02 ..., UNIQ_KEY last

UNIQ_KEY is derived from the sender's name, epoch, partition and row. A run that sends the row again
gives it the same key, so consumers can recognise a duplicate that a broker cannot.

    UNIQ_KEY      blake2b(name, epoch) 8 bytes | partition 4 | row 4, in hexadecimal
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, final

from gantrymq.client.core.errors import MessageError
from gantrymq.wire.message import property_names
from gantrymq.wire.message.batch import FIXED_BYTES, HEAD, PROPERTIES_LENGTH
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX

# Brokers add their region and cluster names, the trace flag and the position in a session.
_BROKERS_BYTES: Final = 1024
_OWN_BYTES_MAX: Final = PROPERTIES_BYTES_MAX - _BROKERS_BYTES

_PLACE: Final = struct.Struct(">II")
_FORBIDDEN: Final = frozenset({"\x01", "\x02"})


@final
@dataclass(frozen=True, slots=True)
class Origin:
    """Identifies the sender, so that a row that is sent again has the same key."""

    name: str
    epoch: int
    partition: int

    def key_prefix(self) -> bytes:
        """Return the half of UNIQ_KEY that all rows share."""
        return blake2b(f"{self.name}\0{self.epoch}".encode(), digest_size=8).digest()


@final
@dataclass(slots=True)
class OutgoingMessage:
    """A message that the caller of a BulkSender made."""

    body: bytes
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0

    @property
    def is_delayed(self) -> bool:
        """Whether it is delayed, and so cannot be part of a batch."""
        return not _DELAYS.isdisjoint(self.properties)


_DELAYS: Final = frozenset({property_names.DELAY, property_names.TIMER_DELIVER_MS})


def unique_key(prefix: bytes, partition: int, row: int) -> str:
    """Return the UNIQ_KEY of a row; row and partition numbers wrap at 2**32."""
    place = _PLACE.pack(partition & 0xFFFFFFFF, row & 0xFFFFFFFF)
    return (prefix + place).hex().upper()


def property_bytes(message: OutgoingMessage, key: str, row: int) -> bytes:
    """Encode the properties; raises MessageError, which names the row."""
    text = ""
    for name, value in message.properties.items():
        if not _FORBIDDEN.isdisjoint(name) or not _FORBIDDEN.isdisjoint(value) or not name:
            raise MessageError(
                f"row {row}: the property {name!r} is empty or contains \\x01 or \\x02, which"
                " separate properties; remove them"
            )
        text += f"{name}\x01{value}\x02"
    data = f"{text}UNIQ_KEY\x01{key}\x02".encode()
    if len(data) > _OWN_BYTES_MAX:
        raise MessageError(
            f"row {row}: the properties have {len(data)} bytes, more than the maximum of"
            f" {_OWN_BYTES_MAX}; make them smaller"
        )
    return data


def part(message: OutgoingMessage, properties: bytes) -> bytes:
    """Encode the message as a part of a batch."""
    body, length = message.body, len(properties)
    size = FIXED_BYTES + len(body) + length
    head = HEAD.pack(size, 0, 0, message.flag, len(body))
    return b"".join((head, body, PROPERTIES_LENGTH.pack(length), properties))


def check_body(message: OutgoingMessage, body_bytes_max: int, row: int) -> None:
    """Raise MessageError, which names the row, if the body is empty or too large."""
    if not message.body:
        raise MessageError(
            f"row {row}: the body is empty or null, and brokers refuse an empty body"
        )
    if len(message.body) > body_bytes_max:
        raise MessageError(
            f"row {row}: the body has {len(message.body)} bytes, more than the maximum of"
            f" {body_bytes_max}; raise message_bytes_max, and maxMessageSize of the brokers"
        )
