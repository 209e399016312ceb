"""Network addresses as RocketMQ writes them: "host:port", an IPv6 host in brackets."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from typing import Final

from gantrymq.base.errors import ConfigurationError

# Addresses for documentation: everything but a machine without a network has a route to them.
_PROBES: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))

# One letter at least: what is made of digits and dots alone was meant as an address.
_HOST_NAME: Final = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?")


def format_address(name: object) -> str:
    """A socket's own idea of an address as text; "unknown" when the peer has already gone."""
    match name:
        case (str(host), int(port), *_):
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        case _:
            return "unknown"


def parse_address(address: str) -> tuple[str, int]:
    """ "host:port" or "[IPv6]:port"."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigurationError(f'address "{address}" is not host:port')
    return host.strip("[]"), int(port)


def is_host_name(text: str) -> bool:
    """Whether a machine may be called so; its address is no name."""
    return _HOST_NAME.fullmatch(text) is not None


def address_of(name: str) -> str | None:
    """The address that a name has on this machine, IPv4 if there is one, as Java prefers it; None
    where it has none. May wait for a name server of the Internet's kind."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # the second for what is too long between two dots
        return None
    found.sort(key=lambda each: each[0] is not socket.AF_INET)
    return str(found[0][4][0])


def own_address() -> str:
    """The address by which others reach this machine, as far as its routes tell: of IPv4 where it
    has one."""
    for family, target in _PROBES:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))  # sends nothing
            host: str = probe.getsockname()[0]
            return host
    return "127.0.0.1"
