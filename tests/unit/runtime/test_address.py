from __future__ import annotations

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.address import format_address, parse_address


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
def test_an_address_that_is_none_is_a_configuration_error(text: str) -> None:
    with pytest.raises(ConfigurationError, match="host:port"):
        parse_address(text)
