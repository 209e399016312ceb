"""Says in one sentence for each port of a server what any client that reaches it may do.

A server logs these sentences when it starts. A port that only this machine reaches needs none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

# What any client may do at a port, and how to prevent it. Conditions of BrokerClusters say the
# same.
BROKER_CLIENTS: Final = (
    "any client may read, send and delete messages and topics; set aclEnable=true and aclFile, or"
    " authenticationEnabled=true and authorizationEnabled=true, or bindAddress to an address that"
    " only clients you trust reach"
)
BROKER_PLAIN: Final = (
    "what clients send and read can be read on the network; set tls.server.mode=enforcing with"
    " tls.server.certPath and keyPath"
)
BROKER_REPLICATION: Final = (
    "any peer may copy all messages, and acknowledge for SYNC_MASTER what no slave has; set"
    " groupSecretFile, haBindAddress, or haListen=false where there are no slaves"
)
BROKER_METRICS: Final = (
    "any client may read the names of topics, groups and clients and their figures; set"
    " metricsTokenFile, metricsBindAddress, or metricsPort=0"
)
NAME_SERVER_CLIENTS: Final = (
    "any client may register brokers, change routes, settings and KV values, and so lead producers"
    " and consumers to false brokers; set aclEnable=true and aclFile, or bindAddress to an address"
    " that only clients and brokers you trust reach"
)
NAME_SERVER_PLAIN: Final = (
    "what clients and brokers send and read can be read on the network; set"
    " tls.server.mode=enforcing with tls.server.certPath and keyPath"
)
NAME_SERVER_METRICS: Final = (
    "any client may read figures; set metricsTokenFile, metricsBindAddress, or metricsPort=0"
)

_ALL_ADDRESSES: Final = frozenset({"", "0.0.0.0", "::"})


@dataclass(frozen=True, slots=True)
class OpenPort:
    """One port that a server listens on, and its missing protections."""

    setting: str
    """The key of the setting with its number."""
    address: str
    """The address that it is bound to."""
    port: int
    lacks: tuple[str, ...]
    """The missing protections, such as "authentication"; empty if there are none."""
    consequence: str
    """What any client may do as a result, and the settings that prevent it."""


def statements(ports: Iterable[OpenPort]) -> tuple[str, ...]:
    """One sentence for each port without a protection that other machines can reach."""
    return tuple(
        f"{each.setting}={each.port} is open {_where(each.address)} without"
        f" {' and '.join(each.lacks)}: {each.consequence}"
        for each in ports
        if each.lacks and not is_loopback(each.address)
    )


def is_loopback(address: str) -> bool:
    """Whether a listener at this address is reachable from this machine only."""
    host = address.strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _where(address: str) -> str:
    host = address.strip("[]")
    return "on all addresses" if host in _ALL_ADDRESSES else f"on {host}"
