"""Derives a broker's addresses, ports and name from its settings and its machine."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Final

from gantrymq.base.configuration.settings import Bound
from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.setup.group_setup import GroupSetup
from gantrymq.runtime.net.address import is_host_name, own_address, parse_address, resolve_address
from gantrymq.runtime.net.listening import ANY_V6
from gantrymq.wire import hosts

PORT_MAX: Final = 65_535


def with_own_addresses(broker: Bound[BrokerSettings]) -> BrokerSettings:
    """The settings with the addresses, names and ports that default to those of this machine."""
    settings = broker.settings
    address = settings.broker_ip1 or own_address()
    # A pod may have IPv6 only; then nothing reaches a listener on all IPv4 addresses.
    is_v6 = "bindAddress" not in broker.sources and ":" in address
    bind_address = ANY_V6 if is_v6 else settings.bind_address
    return replace(
        settings,
        bind_address=bind_address,
        ha_bind_address=settings.ha_bind_address or bind_address,
        metrics_bind_address=settings.metrics_bind_address or bind_address,
        ha_listen_port=_ha_listen_port(settings),
        broker_name=settings.broker_name or socket.gethostname(),
        broker_ip1=address,
        broker_ip2=settings.broker_ip2 or address,
    )


def _ha_listen_port(settings: BrokerSettings) -> int:
    """haListenPort; by default the port after the broker's, or any free one if listenPort is 0."""
    said, port = settings.ha_listen_port, settings.listen_port
    if said or not port:
        return said
    if port == PORT_MAX:
        raise ConfigurationError(f"listenPort={port} is the last port there is: give haListenPort")
    return port + 1


def record_address(broker: Bound[BrokerSettings], *, has_group: bool) -> str:
    """Check brokerIP1, which each record holds as four or sixteen bytes. Returns `ip:port` if it is
    a name, and "" if it is an address."""
    host = broker.settings.broker_ip1
    try:
        if host:
            hosts.parse_address(host)
    except RemoteError:
        if not is_host_name(host):
            what = "must be an IP address or a name, without a port; empty for this machine's own"
            raise broker.refusal("brokerIP1", what) from None
    else:
        return ""
    if has_group:
        raise broker.refusal("brokerIP1", "must be an IP address where groupMembers elect")
    address = resolve_address(host)
    if address is None:
        what = "has no address on this machine, and each message contains one: add it to DNS or"
        raise broker.refusal("brokerIP1", f"{what} /etc/hosts, or write the address")
    return _with_port(address, broker.settings.listen_port)


def check_master_address(address: str) -> None:
    """Raises ConfigurationError if haMasterAddress is set and is not an address with a port."""
    try:
        if address:
            parse_address(address)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"haMasterAddress={address}: {error}; it is the master's brokerIP2 with its"
            " haListenPort, as in 10.0.0.1:10912, or is left to the name servers"
        ) from error


def identity_of(settings: BrokerSettings, group: GroupSetup | None, ip_address: str) -> Identity:
    return Identity(
        settings.broker_name,
        settings.broker_cluster_name,
        settings.broker_id,
        _with_port(settings.broker_ip1, settings.listen_port),
        _with_port(settings.broker_ip2, settings.ha_listen_port),
        member=group.number if group else 0,
        group_address=group.address if group else "",
        ip_address=ip_address,
    )


def _with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
