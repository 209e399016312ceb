"""Tests the sentences about ports that any client may use."""

from __future__ import annotations

import pytest

from gantrymq.base.exposure import OpenPort, is_loopback, statements


def port(address: str, *lacks: str) -> OpenPort:
    return OpenPort("listenPort", address, 10911, lacks, "any client may delete topics")


@pytest.mark.parametrize(
    ("address", "where"),
    [
        ("0.0.0.0", "on all addresses"),
        ("::", "on all addresses"),
        ("10.0.0.1", "on 10.0.0.1"),
        ("[2001:db8::1]", "on 2001:db8::1"),
        ("broker-1", "on broker-1"),
    ],
)
def test_open_port_is_named_with_address_and_missing_protection(address: str, where: str) -> None:
    assert statements([port(address, "authentication", "TLS")]) == (
        (
            f"listenPort=10911 is open {where} without authentication and TLS: any client may"
            " delete topics"
        ),
    )


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"])
def test_loopback_port_is_not_named(address: str) -> None:
    assert is_loopback(address)
    assert statements([port(address, "authentication")]) == ()


def test_protected_port_is_not_named() -> None:
    assert statements([port("0.0.0.0")]) == ()
