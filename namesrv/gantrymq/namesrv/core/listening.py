"""Parses the addresses on which the server listens, and checks addresses of brokers.

    listeners=name:address:port,name:address:port      or bindAddress and listenPort, one listener

The settings are checked when the server starts; no request changes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.namesrv.core.messages import LISTENER_DEFAULT
from gantrymq.namesrv.core.settings import NameServerSettings

_HOST_NAME: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?")
_NUMBERS: Final = re.compile(r"[0-9.]+")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_ALL_ADDRESSES: Final = frozenset({"0.0.0.0", "::"})


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """One listener; port 0 lets the system choose."""

    name: str
    host: str
    port: int


def listen_addresses(settings: NameServerSettings) -> list[ListenAddress]:
    """The addresses that these settings name; ConfigurationError if they cannot be used."""
    if not is_host(settings.bind_address):
        raise ConfigurationError(
            f"bindAddress={settings.bind_address[:100]}: must be an IP address or a host's name"
        )
    if settings.listeners:
        found = _named(settings.listeners)
    else:
        found = [ListenAddress(LISTENER_DEFAULT, settings.bind_address, settings.listen_port)]
    metrics_host = settings.metrics_bind_address or settings.bind_address
    if not is_host(metrics_host):
        raise ConfigurationError(
            f"metricsBindAddress={metrics_host[:100]}: must be an IP address or a host's name"
        )
    metrics = ListenAddress("metricsPort", metrics_host, settings.metrics_port)
    _refuse_collisions([*found, metrics])
    return found


def _named(listing: str) -> list[ListenAddress]:
    found: dict[str, ListenAddress] = {}
    for item in listing.split(","):
        name, _, address = item.strip().partition(":")
        host, _, port = address.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not (name and is_host(host) and is_port(port)) or name in found:
            raise ConfigurationError(
                f"listeners={listing[:200]}: {item.strip()[:100]!r} is not a new name:address:port;"
                " write for example internal:0.0.0.0:9876,external:0.0.0.0:9877"
            )
        found[name] = ListenAddress(name, host, int(port))
    return list(found.values())


def _refuse_collisions(addresses: list[ListenAddress]) -> None:
    for index, one in enumerate(addresses):
        for other in addresses[:index]:
            same = one.host == other.host or not _ALL_ADDRESSES.isdisjoint((one.host, other.host))
            if one.port and one.port == other.port and same:
                raise ConfigurationError(
                    f"{other.name} and {one.name} would both listen on port {one.port}; give each"
                    " its own (listenPort, listeners, metricsPort)"
                )


def is_host(text: str) -> bool:
    """Whether the text is an IP address or a possible host name."""
    try:
        ip_address(text)
    except ValueError:
        return _HOST_NAME.fullmatch(text) is not None and _NUMBERS.fullmatch(text) is None
    return True


def is_port(text: str) -> bool:
    return _PORT.fullmatch(text) is not None and int(text) < 65_536


def is_reachable(address: str) -> bool:
    """Whether clients can use this `host:port`; an IPv6 address may be in brackets or not."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    return is_host(host) and is_port(port) and int(port) > 0
