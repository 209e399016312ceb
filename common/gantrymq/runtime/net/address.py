"""Parses and formats network addresses as RocketMQ writes them: "host:port", "[IPv6]:port"."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from typing import Final

from gantrymq.base.errors import ConfigurationError

# Documentation addresses (RFC 5737, RFC 3849): every machine with a network has a route to them.
_PROBES: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))

# At least one letter: text of digits and dots alone is meant as an address.
_HOST_NAME: Final = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?")


def format_address(name: object) -> str:
    """A socket address as text; "unknown" if the peer has already disconnected."""
    match name:
        case (str(host), int(port), *_):
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        case _:
            return "unknown"


def parse_address(address: str) -> tuple[str, int]:
    """Split "host:port" or "[IPv6]:port"; raises ConfigurationError for anything else."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigurationError(f'address "{address}" is not host:port')
    return host.strip("[]"), int(port)


def is_host_name(text: str) -> bool:
    """Whether the text is a valid host name; an IP address is not."""
    return _HOST_NAME.fullmatch(text) is not None


def resolve_address(name: str) -> str | None:
    """The IP address to which this machine resolves a name; None if there is none.

    Prefers IPv4, as Java does. Blocks while DNS is asked.
    """
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # UnicodeError: a label between two dots is too long
        return None
    found.sort(key=lambda each: each[0] is not socket.AF_INET)
    return str(found[0][4][0])


def own_address() -> str:
    """The address of this machine that its routing table uses for outgoing traffic.

    Prefers IPv4; the loopback address if the machine has no route.
    """
    for family, target in _PROBES:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))  # a UDP connect sends no packet
            host: str = probe.getsockname()[0]
            return host
    return "127.0.0.1"
