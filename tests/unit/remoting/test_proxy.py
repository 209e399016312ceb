"""Tests the PROXY header of load balancers: whole, in pieces, and malformed."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.remoting.proxy import ProxyHeader

FRAME = b"\x00\x00\x00\x15rest"


def version_2(family: int, addresses: bytes, *, command: int = 0x21, more: bytes = b"") -> bytes:
    content = addresses + more
    prefix = b"\r\n\r\n\x00\r\nQUIT\n" + bytes([command, family])
    return prefix + len(content).to_bytes(2, "big") + content


def ports(source: int, destination: int = 9876) -> bytes:
    return source.to_bytes(2, "big") + destination.to_bytes(2, "big")


TCP4 = version_2(0x11, bytes([10, 0, 0, 7, 10, 0, 0, 1]) + ports(51234))
TCP6 = version_2(0x21, ipaddress.IPv6Address("fd00::7").packed + bytes(16) + ports(51234))

HEADERS = {
    b"PROXY TCP4 10.0.0.7 10.0.0.1 51234 9876\r\n": "10.0.0.7:51234",
    b"PROXY TCP6 fd00::7 fd00::1 51234 9876\r\n": "[fd00::7]:51234",
    b"PROXY UNKNOWN\r\n": None,
    b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n": None,
    TCP4: "10.0.0.7:51234",
    TCP6: "[fd00::7]:51234",
    version_2(0x11, TCP4[16:], more=b"\x04\x00\x02hi"): "10.0.0.7:51234",
    version_2(0x00, b"", command=0x20): None,
    version_2(0x31, bytes(216)): None,
    b"": None,
}


@pytest.mark.parametrize(("header", "source"), HEADERS.items())
def test_whole_header_is_removed(header: bytes, source: str | None) -> None:
    proxy = ProxyHeader()

    assert proxy.decode(header + FRAME) == FRAME
    assert proxy.source == source


@pytest.mark.parametrize(("header", "source"), HEADERS.items())
def test_header_that_arrives_byte_by_byte_is_removed(header: bytes, source: str | None) -> None:
    proxy = ProxyHeader()
    stream = header + FRAME
    for position in range(len(stream)):
        rest = proxy.decode(stream[position : position + 1])
        if rest is not None:
            assert rest + stream[position + 1 :] == FRAME
            break
    else:
        pytest.fail("the header never ended")
    assert proxy.source == source


@pytest.mark.parametrize(
    "nonsense",
    [
        b"POST / HTTP/1.1\r\n",
        b"PROXY TCP4 10.0.0.7 10.0.0.1 51234\r\n",
        b"PROXY TCP4 ten.0.0.7 10.0.0.1 51234 9876\r\n",
        b"PROXY TCP4 10.0.0.7 10.0.0.1 port 9876\r\n",
        b"PROXY " + b"x" * 120,
        b"\r\n\r\n\r\n\r\n",
        version_2(0x11, TCP4[16:], command=0x31),
        version_2(0x11, bytes(8)),
        version_2(0x11, TCP4[16:], more=bytes(5000)),
    ],
)
def test_malformed_header_is_refused(nonsense: bytes) -> None:
    with pytest.raises(RemoteError):
        ProxyHeader().decode(nonsense)


@given(
    header=st.sampled_from([header for header in HEADERS if header]),
    position=st.integers(0, 40),
    damage=st.integers(1, 255),
)
def test_a_damaged_byte_is_refused_or_read_within_bounds(
    header: bytes, position: int, damage: int
) -> None:
    damaged = bytearray(header + FRAME)
    damaged[position % len(header)] ^= damage
    proxy = ProxyHeader()
    try:
        rest = proxy.decode(bytes(damaged))
    except RemoteError:
        return
    assert rest is None or len(rest) <= len(damaged)
