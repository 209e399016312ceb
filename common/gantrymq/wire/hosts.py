"""Packs hosts, an address and a port, as records carry them, and formats them as Java does.

    packed     address, 4 or 16 bytes | port, int32          8 or 20 bytes in all
    example    c0a80009 00002a9f                             192.168.0.9:10911

The packed form is used everywhere: records, message ids and the store copy it without decoding it.
Java's text has no `::` and no leading zeros: `[fe80:0:0:0:0:0:0:2]:10911`.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from gantrymq.base.errors import LocalError, RemoteError

PACKED_BYTES_V4: Final = 8
PACKED_BYTES_V6: Final = 20
PORT_MAX: Final = 65535

# The longest text is an IPv6 address with a zone and a port; longer ones are not parsed.
TEXT_MAX: Final = 128


def pack(address: bytes, port: int) -> bytes:
    if len(address) not in {4, 16}:
        raise LocalError(f"an address has 4 or 16 bytes, not {len(address)}")
    if not 0 <= port <= PORT_MAX:
        raise LocalError(f"port {port} is outside 0..{PORT_MAX}")
    return address + port.to_bytes(4, "big")


def unpack(host: bytes) -> tuple[bytes, int]:
    """(address, port). The port has four bytes in the record, so it can be invalid."""
    if len(host) not in {PACKED_BYTES_V4, PACKED_BYTES_V6}:
        raise RemoteError(f"a packed host has 8 or 20 bytes, not {len(host)}")
    port = int.from_bytes(host[-4:], "big")
    if port > PORT_MAX:
        raise RemoteError(f"port {port} of a packed host is outside 0..{PORT_MAX}")
    return host[:-4], port


def parse_address(text: str) -> bytes:
    """The bytes of a textual IP address. As in Java, IPv4 mapped into IPv6 becomes IPv4, and a zone
    is removed.

    A dual-stack socket reports its IPv4 peers in the mapped form.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError as error:
        raise RemoteError(f"{text[:TEXT_MAX]!r} is not an IP address") from error
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.packed
    return address.packed


def parse(text: str) -> bytes:
    """Packed host of `ip:port` or `[ipv6]:port`; ignores the `name/` that Java prints before it."""
    if len(text) > TEXT_MAX:
        raise RemoteError(f"a host of {len(text)} characters is longer than {TEXT_MAX}")
    address, colon, port = text.rpartition("/")[2].rpartition(":")
    bracketed = address.startswith("[") and address.endswith("]")
    if not colon or bracketed != (":" in address):
        raise RemoteError(f"{text!r} is not ip:port or [ipv6]:port")
    if not (port.isascii() and port.isdigit()) or int(port) > PORT_MAX:
        raise RemoteError(f"the port of {text!r} is not a number in 0..{PORT_MAX}")
    return pack(parse_address(address[1:-1] if bracketed else address), int(port))


def address_text(address: bytes) -> str:
    """The address as Java's `getHostAddress` prints it."""
    if len(address) == 4:
        return f"{address[0]}.{address[1]}.{address[2]}.{address[3]}"
    return ":".join([f"{address[i] << 8 | address[i + 1]:x}" for i in range(0, 16, 2)])


def text(host: bytes) -> str:
    """`ip:port` or `[ipv6]:port`."""
    address, port = unpack(host)
    printed = address_text(address)
    return f"{printed}:{port}" if len(address) == 4 else f"[{printed}]:{port}"


def java_text(host: bytes) -> str:
    """`/ip:port` or `/[ipv6]:port`, as Java's `InetSocketAddress.toString` without a name."""
    return "/" + text(host)
