"""Encodes and decodes offset message ids, the `msgId` of send responses: a message's location.

    bytes      packed host of the broker, 8 or 20 | commit log offset, int64
    text       upper-case hex, 32 characters (IPv4) or 56 (IPv6)
    example    C0A80009 00002A9F 000000004000007B   192.168.0.9:10911, offset 1073741947

A client's unique id can have the same length; only looking up an id tells them apart.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire import hosts

TEXT_CHARS_V4: Final = 32
TEXT_CHARS_V6: Final = 56
HEX_DIGITS: Final = frozenset("0123456789abcdefABCDEF")


def encode(store_host: bytes, physical_offset: int) -> str:
    if physical_offset < 0:
        raise LocalError(f"a commit log offset is not negative: {physical_offset}")
    return (store_host + physical_offset.to_bytes(8, "big")).hex().upper()


def decode(message_id: str) -> tuple[bytes, int]:
    """(packed host, commit log offset) of an id in upper or lower case."""
    if len(message_id) not in {TEXT_CHARS_V4, TEXT_CHARS_V6}:
        raise RemoteError(f"an offset message id has 32 or 56 characters, not {len(message_id)}")
    if not HEX_DIGITS.issuperset(message_id):
        raise RemoteError(f"message id {message_id!r} is not hexadecimal")
    data = bytes.fromhex(message_id)
    host, offset = data[:-8], int.from_bytes(data[-8:], "big", signed=True)
    hosts.unpack(host)
    if offset < 0:
        raise RemoteError(f"message id {message_id!r} is no offset id: offset {offset}")
    return host, offset
