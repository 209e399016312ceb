"""Finds the ports of a cluster that are open to any client, in the terms of its servers' logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.exposure import (
    BROKER_CLIENTS,
    BROKER_METRICS,
    BROKER_PLAIN,
    NAME_SERVER_CLIENTS,
    NAME_SERVER_METRICS,
    NAME_SERVER_PLAIN,
    OpenPort,
    statements,
)
from gantrymq.operator.plan.objects.names import (
    BROKER_METRICS_PORT,
    BROKER_PORT,
    NAME_SERVER_METRICS_PORT,
    NAME_SERVER_PORT,
)
from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec

_ALL: Final = "0.0.0.0"
_ACCOUNTS: Final = ("aclEnable", "authenticationEnabled")


@final
@dataclass(frozen=True, slots=True)
class _Server:
    """A kind of server: its ports, and what any client may do at open ones."""

    port: int
    metrics_port: int
    clients: str
    plain: str
    metrics: str


_BROKER: Final = _Server(
    BROKER_PORT, BROKER_METRICS_PORT, BROKER_CLIENTS, BROKER_PLAIN, BROKER_METRICS
)
_NAME_SERVER: Final = _Server(
    NAME_SERVER_PORT,
    NAME_SERVER_METRICS_PORT,
    NAME_SERVER_CLIENTS,
    NAME_SERVER_PLAIN,
    NAME_SERVER_METRICS,
)


def open_ports(spec: BrokerClusterSpec) -> tuple[str, ...]:
    """Return a sentence for each port that lacks authentication or TLS; none for a secure cluster.
    The replication port of members requires a proof in every cluster."""
    if spec.security.is_secure:
        return ()
    of_brokers = statements(_ports(spec.config, _BROKER))
    of_name_servers = statements(_ports(spec.name_server_config, _NAME_SERVER))
    return (
        *(f"brokers: {each}" for each in of_brokers),
        *(f"name servers: {each}" for each in of_name_servers),
    )


def _ports(settings: Mapping[str, str], server: _Server) -> Iterator[OpenPort]:
    has_accounts = any(_word(settings, key) == "true" for key in _ACCOUNTS)
    is_encrypted = _word(settings, "tls.server.mode") == "enforcing"
    missing = {"authentication": not has_accounts, "TLS": not is_encrypted}
    lacks = tuple(what for what, is_missing in missing.items() if is_missing)
    consequence = server.plain if has_accounts else server.clients
    yield OpenPort("listenPort", _ALL, server.port, lacks, consequence)
    lacks = () if _word(settings, "metricsTokenFile") else ("authentication",)
    address = _word(settings, "metricsBindAddress") or _ALL
    yield OpenPort("metricsPort", address, server.metrics_port, lacks, server.metrics)


def _word(settings: Mapping[str, str], key: str) -> str:
    return str(settings.get(key, "")).strip().lower()
