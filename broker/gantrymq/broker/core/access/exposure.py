"""Decides by a broker's settings which of its ports any client may use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gantrymq.base.exposure import (
    BROKER_CLIENTS,
    BROKER_METRICS,
    BROKER_PLAIN,
    BROKER_REPLICATION,
    OpenPort,
    statements,
)
from gantrymq.broker.core.settings import BrokerSettings

_USERS: Final = (
    "every user may read, send and delete messages and topics, whatever the policies say; set"
    " authorizationEnabled=true"
)


@dataclass(frozen=True, slots=True)
class Protection:
    """The protection of a broker that its settings do not show."""

    is_encrypted: bool
    """Whether clients must use TLS."""
    takes_any_slave: bool
    """Whether the HA port takes slaves without a proof."""


def exposed(settings: BrokerSettings, protection: Protection) -> tuple[str, ...]:
    """One sentence for each port that any client may use; empty where all are protected."""
    return statements(_ports(settings, protection))


def _ports(settings: BrokerSettings, protection: Protection) -> Iterator[OpenPort]:
    lacks = _lacks(settings, protection)
    consequence = _consequence(settings, protection)
    yield OpenPort("listenPort", settings.bind_address, settings.listen_port, lacks, consequence)
    host = settings.ha_bind_address or settings.bind_address
    lacks = ("a proof",) if protection.takes_any_slave else ()
    yield OpenPort("haListenPort", host, settings.ha_listen_port, lacks, BROKER_REPLICATION)
    if settings.metrics_port:
        host = settings.metrics_bind_address or settings.bind_address
        lacks = () if settings.metrics_token_file else ("authentication",)
        yield OpenPort("metricsPort", host, settings.metrics_port, lacks, BROKER_METRICS)


def _lacks(settings: BrokerSettings, protection: Protection) -> tuple[str, ...]:
    missing = {
        "authentication": not _is_authenticated(settings),
        "authorization": _is_unauthorized(settings),
        "TLS": not protection.is_encrypted,
    }
    return tuple(what for what, is_missing in missing.items() if is_missing)


def _consequence(settings: BrokerSettings, protection: Protection) -> str:
    if not _is_authenticated(settings):
        return BROKER_CLIENTS
    told = [_USERS] if _is_unauthorized(settings) else []
    return "; ".join(told if protection.is_encrypted else [*told, BROKER_PLAIN])


def _is_authenticated(settings: BrokerSettings) -> bool:
    """Whether clients need an account or a user. Without that, rights are not checked either."""
    return settings.acl_enable or settings.authentication_enabled


def _is_unauthorized(settings: BrokerSettings) -> bool:
    """Whether every user may do everything. Rights of accounts in aclFile are always checked."""
    return settings.authentication_enabled and not settings.authorization_enabled
