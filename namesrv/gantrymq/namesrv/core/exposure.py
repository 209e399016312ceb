"""Says which of a name server's ports are open to any client, by its settings alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gantrymq.base.exposure import OpenPort, statements
from gantrymq.namesrv.core.listening import listen_addresses
from gantrymq.namesrv.core.settings import NameServerSettings

_CLIENTS: Final = (
    "any client may register brokers, change routes, settings and KV values, and so lead producers"
    " and consumers to false brokers; set aclEnable=true and aclFile, or bindAddress to an address"
    " that only clients and brokers you trust reach"
)
_PLAIN: Final = (
    "what clients and brokers send and read can be read on the network; set"
    " tls.server.mode=enforcing with tls.server.certPath and keyPath"
)
_METRICS: Final = (
    "any client may read figures; set metricsTokenFile, metricsBindAddress, or metricsPort=0"
)


def exposed(settings: NameServerSettings, *, is_encrypted: bool) -> tuple[str, ...]:
    """One sentence for each port that any client may use; empty where all are protected.
    `is_encrypted` says whether clients must use TLS."""
    return statements(_ports(settings, is_encrypted=is_encrypted))


def _ports(settings: NameServerSettings, *, is_encrypted: bool) -> Iterator[OpenPort]:
    missing = {"authentication": not settings.acl_enable, "TLS": not is_encrypted}
    lacks = tuple(what for what, is_missing in missing.items() if is_missing)
    consequence = _PLAIN if settings.acl_enable else _CLIENTS
    for each in listen_addresses(settings):
        name = f"listeners, {each.name}" if settings.listeners else "listenPort"
        yield OpenPort(name, each.host, each.port, lacks, consequence)
    if settings.metrics_port:
        host = settings.metrics_bind_address or settings.bind_address
        lacks = () if settings.metrics_token_file else ("authentication",)
        yield OpenPort("metricsPort", host, settings.metrics_port, lacks, _METRICS)
