"""Network addresses as RocketMQ writes them: "host:port", an IPv6 host in brackets."""

from __future__ import annotations

import socket

from gantrymq.base.errors import ConfigurationError


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


def own_address() -> str:
    """The address by which others reach this machine, as far as its routes tell."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; an address for documentation
        except OSError:
            return "127.0.0.1"
        host: str = probe.getsockname()[0]
        return host
