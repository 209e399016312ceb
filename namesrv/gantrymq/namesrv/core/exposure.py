"""Says which of a name server's ports are open to any client, by its settings."""

from __future__ import annotations

from collections.abc import Iterator

from gantrymq.base.exposure import (
    NAME_SERVER_CLIENTS,
    NAME_SERVER_METRICS,
    NAME_SERVER_PLAIN,
    OpenPort,
    statements,
)
from gantrymq.namesrv.core.listening import listen_addresses
from gantrymq.namesrv.core.settings import NameServerSettings


def exposed(settings: NameServerSettings, *, is_encrypted: bool) -> tuple[str, ...]:
    """One sentence for each port that any client may use; empty if all are protected.

    `is_encrypted` says whether clients must use TLS.
    """
    return statements(_ports(settings, is_encrypted=is_encrypted))


def _ports(settings: NameServerSettings, *, is_encrypted: bool) -> Iterator[OpenPort]:
    missing = {"authentication": not settings.acl_enable, "TLS": not is_encrypted}
    lacks = tuple(what for what, is_missing in missing.items() if is_missing)
    consequence = NAME_SERVER_PLAIN if settings.acl_enable else NAME_SERVER_CLIENTS
    for each in listen_addresses(settings):
        name = f"listeners, {each.name}" if settings.listeners else "listenPort"
        yield OpenPort(name, each.host, each.port, lacks, consequence)
    if settings.metrics_port:
        host = settings.metrics_bind_address or settings.bind_address
        lacks = () if settings.metrics_token_file else ("authentication",)
        yield OpenPort("metricsPort", host, settings.metrics_port, lacks, NAME_SERVER_METRICS)
