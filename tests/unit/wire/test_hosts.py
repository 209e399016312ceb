"""Tests that hosts are packed, parsed and formatted as in Java."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire import hosts

addresses = st.binary(min_size=4, max_size=4) | st.binary(min_size=16, max_size=16).filter(
    lambda address: address[:12] != bytes(10) + b"\xff\xff"
)


@pytest.mark.parametrize(
    ("text", "packed", "java"),
    [
        ("192.168.0.9:10911", "c0a8000900002a9f", "/192.168.0.9:10911"),
        ("[fe80::2]:0", "fe80" + "0" * 27 + "200000000", "/[fe80:0:0:0:0:0:0:2]:0"),
        ("/[2001:DB8::1%eth0]:1", "20010db8" + "0" * 23 + "100000001", "/[2001:db8:0:0:0:0:0:1]:1"),
        ("broker/10.1.2.3:65535", "0a0102030000ffff", "/10.1.2.3:65535"),
        ("[::ffff:10.1.2.3]:80", "0a01020300000050", "/10.1.2.3:80"),
    ],
)
def test_parses_and_prints_as_java(text: str, packed: str, java: str) -> None:
    host = hosts.parse(text)
    assert host.hex() == packed
    assert hosts.java_text(host) == java
    assert hosts.parse(java) == host


@given(addresses, st.integers(0, 65535))
def test_hosts_survive_the_round_trip(address: bytes, port: int) -> None:
    host = hosts.pack(address, port)
    assert hosts.unpack(host) == (address, port)
    assert hosts.parse(hosts.text(host)) == host


@pytest.mark.parametrize(
    "text",
    [
        *("", ":", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3:5", "fe80::2:5"),
        *("[1.2.3.4]:5", "[fe80::2]", "[fe80::2:5", "name:5", "1.2.3.4:\u0663", "1" * 200 + ":5"),
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(RemoteError):
        hosts.parse(text)


@given(st.text("0123456789abcdef.:[]/% "))
def test_any_text_is_refused_or_reads_back(text: str) -> None:
    try:
        host = hosts.parse(text)
    except RemoteError:
        return
    assert hosts.parse(hosts.text(host)) == host


@pytest.mark.parametrize("packed", [b"", bytes(7), bytes(19), b"\x7f\x00\x00\x01\x00\x01\x00\x00"])
def test_malformed_packed_host_is_refused(packed: bytes) -> None:
    with pytest.raises(RemoteError):
        hosts.unpack(packed)


def test_packing_an_invalid_host_is_a_programming_error() -> None:
    with pytest.raises(LocalError):
        hosts.pack(bytes(5), 1)
    with pytest.raises(LocalError):
        hosts.pack(bytes(4), 65536)
