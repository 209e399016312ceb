r"""One message to be sent in bulk, and its bytes.

    part          as wire/message/batch.py has it
    properties    name \x01 value \x02 ..., UNIQ_KEY last

UNIQ_KEY is made of the sender's name, epoch, partition and row: a run that sends the row again
gives it the same key, so that consumers can see a duplicate where a broker cannot.

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

# Brokers add the names of their region and cluster, whether they trace, and the place in a session.
_BROKERS_BYTES: Final = 1024
_OWN_BYTES_MAX: Final = PROPERTIES_BYTES_MAX - _BROKERS_BYTES

_PLACE: Final = struct.Struct(">II")
_FORBIDDEN: Final = frozenset({"\x01", "\x02"})


@final
@dataclass(frozen=True, slots=True)
class Origin:
    """Who sends, so that rows have the same keys when they are sent again."""

    name: str
    epoch: int
    partition: int

    def key_prefix(self) -> bytes:
        """The half of UNIQ_KEY that all rows have in common."""
        return blake2b(f"{self.name}\0{self.epoch}".encode(), digest_size=8).digest()


@final
@dataclass(slots=True)
class OutgoingMessage:
    """A message as the caller made it."""

    body: bytes
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0

    @property
    def is_delayed(self) -> bool:
        """Whether it may not be in a batch."""
        return not _DELAYS.isdisjoint(self.properties)


_DELAYS: Final = frozenset({property_names.DELAY, property_names.TIMER_DELIVER_MS})


def unique_key(prefix: bytes, partition: int, row: int) -> str:
    """Of this row; rows above 2**32 begin again, and so do partitions."""
    place = _PLACE.pack(partition & 0xFFFFFFFF, row & 0xFFFFFFFF)
    return (prefix + place).hex().upper()


def property_bytes(message: OutgoingMessage, key: str, row: int) -> bytes:
    """Raises MessageError, which names the row."""
    text = ""
    for name, value in message.properties.items():
        if not _FORBIDDEN.isdisjoint(name) or not _FORBIDDEN.isdisjoint(value) or not name:
            raise MessageError(
                f"row {row}: the property {name!r} is empty or holds \\x01 or \\x02, which separate"
                " properties; remove them"
            )
        text += f"{name}\x01{value}\x02"
    data = f"{text}UNIQ_KEY\x01{key}\x02".encode()
    if len(data) > _OWN_BYTES_MAX:
        raise MessageError(
            f"row {row}: the properties have {len(data)} bytes, at most {_OWN_BYTES_MAX} are"
            " taken; put less into them"
        )
    return data


def part(message: OutgoingMessage, properties: bytes) -> bytes:
    """The message as a part of a batch."""
    body, length = message.body, len(properties)
    size = FIXED_BYTES + len(body) + length
    head = HEAD.pack(size, 0, 0, message.flag, len(body))
    return b"".join((head, body, PROPERTIES_LENGTH.pack(length), properties))


def check_body(message: OutgoingMessage, body_bytes_max: int, row: int) -> None:
    """Raises MessageError, which names the row."""
    if not message.body:
        raise MessageError(f"row {row}: the body is empty or null; brokers take none without one")
    if len(message.body) > body_bytes_max:
        raise MessageError(
            f"row {row}: the body has {len(message.body)} bytes, at most {body_bytes_max} are"
            " sent; raise message_bytes_max, and maxMessageSize of the brokers"
        )
