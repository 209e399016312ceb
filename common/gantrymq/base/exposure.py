"""Says in one sentence for each port of a server what any client that reaches it may do.

A server logs these sentences when it starts. A port that only this machine reaches needs none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

_ALL_ADDRESSES: Final = frozenset({"", "0.0.0.0", "::"})


@dataclass(frozen=True, slots=True)
class OpenPort:
    """One port that a server listens on, and what it lacks."""

    setting: str
    """The key of its number."""
    address: str
    """What it binds."""
    port: int
    lacks: tuple[str, ...]
    """Protections that are missing, such as "authentication"; empty where none is."""
    consequence: str
    """What any client may do therefore, and the settings that prevent it."""


def statements(ports: Iterable[OpenPort]) -> tuple[str, ...]:
    """One sentence for each port that lacks something and that other machines reach."""
    return tuple(
        f"{each.setting}={each.port} is open {_where(each.address)} without"
        f" {' and '.join(each.lacks)}: {each.consequence}"
        for each in ports
        if each.lacks and not is_loopback(each.address)
    )


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches what listens there."""
    host = address.strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _where(address: str) -> str:
    host = address.strip("[]")
    return "on all addresses" if host in _ALL_ADDRESSES else f"on {host}"
