"""Reads the header of the PROXY protocol, by which a load balancer states the client's address.

    v1  "PROXY TCP4 10.0.0.7 10.0.0.1 51234 9876\\r\\n"   at most 107 bytes
    v2  0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A             signature
        20 LOCAL or 21 PROXY | 11 TCP4 or 21 TCP6 | int16 BE length of what follows
        source address | destination address | int16 source port | int16 destination port | more

The header comes first on a connection, before TLS. Any peer that can connect may claim any address
with it, so a listener accepts it only if configured to. A connection without the header is served
as well, as in RocketMQ 5: its first byte is neither P nor a carriage return.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, final

from gantrymq.base.errors import RemoteError

_V1_START: Final = b"PROXY "
_V1_BYTES_MAX: Final = 107
_V2_SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_V2_PREFIX: Final = 16
# Addresses are 36 bytes at most; the rest is additions of the balancer that are skipped.
_V2_BYTES_MAX: Final = 4096


@final
class ProxyHeader:
    """Removes the header from the start of a stream; of no use afterwards."""

    __slots__ = ("_buffer", "source")

    def __init__(self) -> None:
        self._buffer = b""
        self.source: str | None = None

    def decode(self, data: bytes) -> bytes | None:
        """Returns the data after the header; None while it is incomplete. Raises RemoteError."""
        data = self._buffer = self._buffer + data
        if data[:1] == _V1_START[:1]:
            return self._read_v1(data)
        if data[:1] == _V2_SIGNATURE[:1]:
            return self._read_v2(data)
        return data

    def _read_v1(self, data: bytes) -> bytes | None:
        start = data[: len(_V1_START)]
        line, end, rest = data[:_V1_BYTES_MAX].partition(b"\r\n")
        if not _V1_START.startswith(start) or (not end and len(data) >= _V1_BYTES_MAX):
            raise RemoteError("neither a frame nor a PROXY header")
        if not end:
            return None
        match line.split(b" "):
            case [_, b"UNKNOWN", *_]:
                pass
            case [_, b"TCP4" | b"TCP6", source, _, port, _] if port.isdigit() and len(port) <= 5:
                self.source = _source(source, int(port))
            case _:
                raise RemoteError("malformed PROXY header of version 1")
        return rest + data[_V1_BYTES_MAX:]

    def _read_v2(self, data: bytes) -> bytes | None:
        signature = data[: len(_V2_SIGNATURE)]
        if not _V2_SIGNATURE.startswith(signature):
            raise RemoteError("neither a frame nor a PROXY header")
        if len(data) < _V2_PREFIX:
            return None
        command, family = data[12], data[13]
        end = _V2_PREFIX + int.from_bytes(data[14:16], "big")
        if command not in {0x20, 0x21} or end > _V2_BYTES_MAX:
            raise RemoteError("malformed PROXY header of version 2")
        if len(data) < end:
            return None
        size = {0x11: 4, 0x21: 16}.get(family, 0)
        if command == 0x21 and size:
            self.source = self._source_v2(data[_V2_PREFIX:end], size)
        return data[end:]

    def _source_v2(self, addresses: bytes, size: int) -> str:
        if len(addresses) < 2 * size + 4:
            raise RemoteError("malformed PROXY header of version 2")
        port = int.from_bytes(addresses[2 * size : 2 * size + 2], "big")
        address = ip_address(addresses[:size])
        return _text(address, port)


def _source(address: bytes, port: int) -> str:
    try:
        return _text(ip_address(address.decode("ascii")), port)
    except ValueError as error:
        raise RemoteError("malformed PROXY header of version 1") from error


def _text(address: IPv4Address | IPv6Address, port: int) -> str:
    return f"{address}:{port}" if address.version == 4 else f"[{address}]:{port}"
