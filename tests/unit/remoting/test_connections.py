"""Tests which connections a server accepts, and which ones it closes to make room."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.remoting.connections import (
    SILENT_SECONDS,
    ConnectionGate,
    ConnectionLimits,
    parse_networks,
)


@dataclass(eq=False)
class Peer:
    peer: str = "10.0.0.1:1"
    requests_seen: int = 0


def gate(total: int = 4, own: int = 2, exempt: str = "") -> ConnectionGate[Peer]:
    networks = parse_networks(exempt)
    return ConnectionGate(
        ConnectionLimits(connections_max=total, address_connections_max=own, exempt=networks)
    )


def test_share_of_an_address_is_full_until_one_connection_closes() -> None:
    made = gate()
    first = Peer()
    assert made.enter(first, 0.0) is None
    assert made.enter(Peer(), 0.0) is None
    refused = Peer()
    assert (
        made.enter(refused, 0.0) == "10.0.0.1 has 2 connections, as maxConnectionsPerAddress allows"
    )
    assert made.enter(Peer("10.0.0.2:1"), 0.0) is None
    made.leave(refused)
    made.leave(first)
    assert made.enter(Peer(), 0.0) is None


@pytest.mark.parametrize(
    "peer", ["127.0.0.1:5", "[::1]:5", "[::ffff:127.0.0.9]:5", "unknown", "10.9.1.1:5"]
)
def test_exempt_addresses_and_sockets_without_one_are_not_bounded(peer: str) -> None:
    made = gate(own=1, exempt="127.0.0.0/8, ::1, 10.9.0.0/16")
    assert [made.enter(Peer(peer), 0.0) for _ in range(3)] == [None] * 3


def test_connections_of_a_load_balancer_count_only_in_the_total() -> None:
    made = gate(total=3, own=1)
    assert [made.enter(Peer(), 0.0, is_proxied=True) for _ in range(3)] == [None] * 3
    assert isinstance(made.enter(Peer(), 0.0, is_proxied=True), str)


def test_oldest_connection_without_a_request_is_closed_to_make_room() -> None:
    made = gate(total=3, own=9)
    busy, silent, young = Peer(requests_seen=1), Peer(), Peer()
    made.enter(busy, 0.0)
    made.enter(silent, 1.0)
    made.enter(young, 2.0)
    assert made.enter(Peer(requests_seen=1), 1.0 + SILENT_SECONDS) is silent
    made.leave(silent)
    refusal = made.enter(Peer(), 1.5 + SILENT_SECONDS)
    assert refusal == "3 connections are open, as maxConnections allows"


def test_new_connection_is_refused_if_all_others_sent_requests() -> None:
    made = gate(total=2, own=9)
    for _ in range(2):
        made.enter(Peer(requests_seen=1), 0.0)
    assert isinstance(made.enter(Peer(), 100.0), str)
    assert len(made) == 3


def test_connection_without_a_request_expires() -> None:
    made = gate()
    silent, busy = Peer(), Peer("10.0.0.2:1")
    made.enter(silent, 0.0)
    made.enter(busy, 0.0)
    busy.requests_seen = 1
    assert made.silent_too_long(59.0) == []
    assert made.silent_too_long(60.0) == [silent]
    made.leave(silent)
    assert made.silent_too_long(61.0) == []


def test_invalid_network_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"10\.0\.0/33 is no address"):
        parse_networks("127.0.0.1, 10.0.0/33")


def test_a_network_of_ipv6_has_the_share_of_one_address() -> None:
    made = gate(total=9)
    peers = [Peer(f"[2001:db8::{number}]:5") for number in range(1, 4)]
    assert [made.enter(peer, 0.0) for peer in peers] == [
        None,
        None,
        "2001:db8::/64 has 2 connections, as maxConnectionsPerAddress allows",
    ]
    assert made.enter(Peer("[2001:db8:0:1::1]:5"), 0.0) is None
    for peer in peers:
        made.leave(peer)
    assert made.enter(Peer("[2001:db8::9]:5"), 0.0) is None
