"""Tests how addresses, sockets' names and host names are parsed and written."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.net.address import (
    format_address,
    is_host_name,
    parse_address,
    resolve_address,
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (("127.0.0.1", 9876), "127.0.0.1:9876"),
        (("::1", 9876, 0, 0), "[::1]:9876"),
        (None, "unknown"),
        ("/run/socket", "unknown"),
    ],
)
def test_a_socket_s_name_as_text(name: object, text: str) -> None:
    assert format_address(name) == text


@pytest.mark.parametrize(
    ("text", "target"),
    [("a.b:9876", ("a.b", 9876)), ("[::1]:10911", ("::1", 10911)), ("1.2.3.4:1", ("1.2.3.4", 1))],
)
def test_addresses(text: str, target: tuple[str, int]) -> None:
    assert parse_address(text) == target


@pytest.mark.parametrize("text", ["", "host", "host:", ":1", "host:0", "host:70000", "host:-1"])
def test_invalid_address_is_a_configuration_error(text: str) -> None:
    with pytest.raises(ConfigurationError, match="host:port"):
        parse_address(text)


@pytest.mark.parametrize("text", ["broker-1", "a.b", "mq_1.example.org.", "1a", "localhost"])
def test_valid_host_names(text: str) -> None:
    assert is_host_name(text)


@pytest.mark.parametrize("text", ["", "10.1", "1", "a:1", "a b", "-a", "a/b", "a" * 254, "ä"])
def test_invalid_host_names(text: str) -> None:
    assert not is_host_name(text)


def test_resolved_address_of_a_name() -> None:
    assert resolve_address("localhost") in ("127.0.0.1", "::1")
    assert resolve_address("too-long-for-a-label" * 4) is None
