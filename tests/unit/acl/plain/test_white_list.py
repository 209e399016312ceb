"""Tests the patterns of client addresses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.acl.plain.white_list import AddressPattern, places_of


def lets_in(pattern: str, peer: str) -> bool:
    return AddressPattern.parse(pattern).matches(places_of(peer))


@pytest.mark.parametrize(
    ("pattern", "peer"),
    [
        ("*", "no address at all"),
        ("*.*.*.*", "[::1]:5"),
        ("10.1.2.3", "10.1.2.3:40000"),
        ("10.1.*.*", "10.1.255.0:1"),
        ("10.1-3.*.5", "10.3.77.5:1"),
        ("10.1.2.{3,5}", "10.1.2.5:1"),
        ("10.1.2.3,10.1.2.5", "10.1.2.5:1"),
        ("10.1.2.3", "[::ffff:10.1.2.3]:1"),
        ("2001:db8::7", "[2001:DB8:0:0::7]:1"),
        ("2001:db8::*", "[2001:db8::ffff]:1"),
        ("2001:db8:*", "[2001:db8:1:2:3:4:5:6]:1"),
        ("2001:1-f::{1,a}", "[2001:c::a]:1"),
    ],
)
def test_matching_address(pattern: str, peer: str) -> None:
    assert lets_in(pattern, peer)


@pytest.mark.parametrize(
    ("pattern", "peer"),
    [
        ("", "10.1.2.3:1"),
        ("  ", "10.1.2.3:1"),
        ("10.1.2.3", "10.1.2.4:1"),
        ("10.1.2.3", "10.1.2.30:1"),
        ("10.1.*.*", "110.1.2.3:1"),
        ("10.*.3.4", "10.1.3.5:1"),
        ("10.1.2.{3,5}", "10.1.2.4:1"),
        ("10.1.2.*", "[a:1:2::]:1"),
        ("::*", "0.0.0.1:1"),
        ("10.1.2.*", "localhost:1"),
        ("10.1.2.*", ""),
    ],
)
def test_address_that_does_not_match(pattern: str, peer: str) -> None:
    assert not lets_in(pattern, peer)


@pytest.mark.parametrize(
    "text",
    [
        *("10.1.2", "10.1.2.3.4", "10.1.2.256", "10.1.2.-1", "10.1.2.3-", "10.1.2.9-3", "10.*"),
        *("10.1.2.03", "10.1.2.3/24", "localhost", "10.1.{2,3}.4", "{1,2}", "10.1.2.{}", "a.b.c.d"),
        *(
            "1:2:3",
            "1::2::3",
            "1:2:3:4:5:6:7:8:9",
            "::g",
            "10.1.2.3,",
            "::10000",
            "fe80::1%\0",
            "10.1.2.٣",
            "1.2.3.4,\n1.2.3.5",
        ),
    ],
)
def test_invalid_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        AddressPattern.parse(text)


@given(st.integers(0, 2**32 - 1))
def test_every_address_is_its_own_pattern(number: int) -> None:
    address = str(IPv4Address(number))
    places = address.split(".")
    assert lets_in(address, f"{address}:1")
    assert lets_in(".".join([*places[:3], "*"]), f"{address}:1")
    assert not lets_in(address, f"{IPv4Address(number ^ 1)}:1")


@given(st.integers(0, 2**128 - 1))
def test_every_ipv6_address_is_its_own_pattern(number: int) -> None:
    address = IPv6Address(number)
    if address.ipv4_mapped is not None:
        return
    assert lets_in(str(address), f"[{address.exploded}]:1")
    assert lets_in(address.exploded, f"[{address}]:1")
    assert not lets_in(str(address), f"[{IPv6Address(number ^ 1)}]:1")


@given(st.text(alphabet="0123456789abcf.:*-{},", max_size=24))
def test_any_text_is_a_pattern_or_is_refused(text: str) -> None:
    try:
        pattern = AddressPattern.parse(text)
    except ValueError:
        return
    pattern.matches(places_of("10.1.2.3:1"))
