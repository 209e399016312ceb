"""Fuzzes the ports of a live broker and name server with damaged requests of every code.

Each server must stay alive, answer a valid client after each batch, keep its memory in bounds and
log no defect. The frames are valid requests, as other clients would send them, and then damaged.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from gantrymq.attack.legitimate import TOPIC
from gantrymq.attack.peer import Address, Peer
from gantrymq.attack.site import Site
from gantrymq.attack.trial import MIB, Meter
from gantrymq.fakes.hostile import HostileClients
from gantrymq.interop.child import Child
from gantrymq.wire import frames
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.header import field_kinds
from gantrymq.wire.headers.table import REQUEST_HEADERS

SECONDS = float(os.environ.get("FUZZ_SECONDS", "10"))
FRAMES_A_CONNECTION = 60
RSS_GROWTH_MAX = 300 * MIB
# Requests that change what the valid client relies on, as they should.
LEFT_OUT = frozenset({RequestCode.UPDATE_BROKER_CONFIG, RequestCode.UPDATE_NAMESRV_CONFIG})
SELDOM = 0.2
NUMBERS = ("0", "-1", "1", "2147483647", "-2147483648", "9223372036854775807", "x", "")
TEXTS = (TOPIC, "T", "", "..", "a\x01b", "x" * 5_000, "é\ud7ff", "null", "{}", "[]", "10.0.0.1:1")
BODIES = (b"", b"{}", b"[]", b"null", b'{"a":' * 500, b"\x78\x9c" + b"\0" * 50, b"x" * 1_000)

Make = Callable[[random.Random], bytes]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("fuzzed")) as site:
        yield site


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The same bytes, most of the time with a few of them wrong, missing or repeated."""
    changed = bytearray(data)
    for _ in range(rng.choice((0, 0, 1, 1, 3))):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            changed[at : at + 4] = rng.randbytes(4)
        elif kind == 1:
            del changed[at : at + rng.choice((1, 4, 40))]
        elif kind == 2:
            changed[at:at] = changed[at : at + 30] * rng.choice((1, 20))
        elif at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
    return bytes(changed)


def any_frame(rng: random.Random) -> bytes:
    """A request of any code of the protocol, with values of its header's types."""
    code = rng.choice([each for each in RequestCode if each not in LEFT_OUT])
    header = REQUEST_HEADERS.get(code)
    kinds = {} if header is None else field_kinds(header)
    ext = {
        name: rng.choice(TEXTS if kind == "s" else NUMBERS)
        for name, kind in kinds.items()
        if rng.random() > SELDOM / 4
    }
    flag = FLAG_ONEWAY if rng.random() < SELDOM else 0
    encoding = rng.randrange(2) if code < 1 << 15 else 0
    command = Command(code, ext=ext, body=rng.choice(BODIES), flag=flag, encoding=encoding)
    command.opaque = rng.randrange(1 << 31)
    return frames.encode(command)


def broker_frames() -> Make:
    """Requests that a broker may carry out, and any others."""
    clients: list[HostileClients] = []

    def make(rng: random.Random) -> bytes:
        if not clients:
            clients.append(HostileClients(rng))
        hostile = clients[0].request()
        if hostile.code in LEFT_OUT or rng.random() < SELDOM:
            return any_frame(rng)
        flag = FLAG_ONEWAY if hostile.is_oneway else 0
        command = Command(hostile.code, ext=hostile.ext, body=hostile.body, flag=flag)
        command.version = hostile.version
        try:
            return frames.encode(command)
        except Exception:  # the value cannot be expressed in a header
            return any_frame(rng)

    return make


def http_request(rng: random.Random) -> bytes:
    method = rng.choice((b"GET", b"HEAD", b"POST", b"PUT", b"OPTIONS", b"PRI", b""))
    path = rng.choice((b"/metrics", b"/health/live", b"/health/ready", b"/", b"/%2e%2e/", b"*"))
    version = rng.choice((b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9", b""))
    headers = rng.sample(
        (
            b"Host: x",
            b"Content-Length: -1",
            b"Content-Length: 99999999999",
            b"Transfer-Encoding: chunked",
            b"Expect: 100-continue",
            b"Connection: keep-alive",
            b"Upgrade: websocket",
            b"Accept-Encoding: gzip",
            b"X: " + rng.randbytes(20).hex().encode(),
        ),
        k=rng.randrange(6),
    )
    return b"\r\n".join([b" ".join((method, path, version)), *headers, b"", b"0\r\n\r\n"])


def slave_bytes(rng: random.Random) -> bytes:
    offset = rng.choice((0, -1, 1 << 40, 2**63 - 1, -(2**63), 64))
    opening = rng.choice(
        (b"", b"\xff" * 8, b"\xff\xff\xff\xff" + rng.randbytes(12), b"\x16\x03\x01")
    )
    return opening + offset.to_bytes(8, "big", signed=True) * rng.choice((1, 1, 5))


def deliver(rng: random.Random, address: Address, make: Make) -> None:
    """One connection: damaged frames in pieces, and some of the answers are read."""
    data = b"".join(damaged(rng, make(rng)) for _ in range(rng.randrange(1, FRAMES_A_CONNECTION)))
    with contextlib.suppress(OSError), address.open_plain(2.0) as stream:
        for _ in range(rng.choice((1, 1, 3))):
            cut = rng.randrange(len(data) + 1)
            stream.sendall(data[:cut])
            data = data[cut:]
        stream.sendall(data)
        stream.settimeout(rng.choice((0.0, 0.02, 0.05)))
        stream.recv(1 << 16)


def is_answered(site: Site) -> bool:
    """Whether both servers answer a valid client; a request may have deleted its topic."""
    for address in (site.broker, site.fast, site.names):
        with Peer(address) as peer:
            peer.ask(RequestCode.GET_MAX_OFFSET, {"topic": TOPIC, "queueId": "0"})
    return True


def test_every_request_has_its_frame() -> None:
    codes = {int(code) for code in RequestCode} - LEFT_OUT
    rng = random.Random(1)
    made = {frames.FrameReader().decode(any_frame(rng))[0].code for _ in range(20 * len(codes))}
    assert made == codes


PORTS: dict[str, Callable[[Site], Address]] = {
    "broker": lambda site: site.broker,
    "fast": lambda site: site.fast,
    "ha": lambda site: site.ha,
    "broker-pages": lambda site: site.broker_pages,
    "names": lambda site: site.names,
    "names-pages": lambda site: site.names_pages,
}
MAKERS: dict[str, Callable[[], Make]] = {
    "broker": broker_frames,
    "fast": broker_frames,
    "ha": lambda: slave_bytes,
    "broker-pages": lambda: http_request,
    "names": lambda: any_frame,
    "names-pages": lambda: http_request,
}


@pytest.mark.parametrize("port", PORTS)
def test_live_port_survives_damaged_requests(site: Site, port: str) -> None:
    seed = int(os.environ.get("FUZZ_SEED", secrets.randbits(32)))
    rng, address, make = random.Random(seed), PORTS[port](site), MAKERS[port]()
    children = (site.broker_child, site.names_child)
    meters = [Meter(child) for child in children if isinstance(child, Child)]
    until, batches = time.monotonic() + SECONDS, 0
    while time.monotonic() < until:
        for _ in range(20):
            deliver(rng, address, make)
        batches += 1
        note = f"FUZZ_SEED={seed} port={port} batch={batches}"
        assert is_answered(site), note
        for meter in meters:
            assert not meter.defects(), f"{note}: {meter.defects()}"
            growth = meter.rss_peak - meter.rss_before
            assert growth < RSS_GROWTH_MAX, f"{note}: it grew by {growth // MIB} MiB"
    sys.stdout.write(f"\n{port}: {batches} batches of 20 connections, seed {seed}\n")
