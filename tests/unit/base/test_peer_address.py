"""Tests the address by which a peer is counted, and the host of a peer."""

from __future__ import annotations

import pytest

from gantrymq.base.peer_address import counted_address, host_of


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("10.0.0.1:5", "10.0.0.1"),
        ("[2001:db8::1]:5", "2001:db8::/64"),
        ("[2001:db8:1:2:3:4:5:6]:5", "2001:db8:1:2::/64"),
        ("2001:db8::2:5", "2001:db8::/64"),
        ("[::ffff:10.0.0.1]:5", "10.0.0.1"),
        ("[fe80::1%eth0]:5", "fe80::/64"),
        ("unknown", "unknown"),
        ("a:b:c", "a:b"),
    ],
)
def test_ipv6_address_counts_with_its_network(peer: str, address: str) -> None:
    assert counted_address(peer) == address


@pytest.mark.parametrize(("peer", "host"), [("10.0.0.1:5", "10.0.0.1"), ("[::1]:5", "::1")])
def test_host_has_neither_port_nor_brackets(peer: str, host: str) -> None:
    assert host_of(peer) == host
