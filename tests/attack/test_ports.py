"""Attacks on the other ports: replication, metrics and probes, TLS handshakes."""

from __future__ import annotations

import contextlib
import os
import ssl
import struct
import time

import pytest

from gantrymq.attack import requests
from gantrymq.attack.legitimate import TOPIC
from gantrymq.attack.peer import Address, Connections, Peer, say
from gantrymq.attack.site import USER, Site
from gantrymq.attack.trial import Trial
from gantrymq.wire.codes import RequestCode

HEAD_BYTES = 12  # of a frame of RocketMQ's replication: position and size


def first_bytes(address: Address, *pieces: bytes, seconds: float = 2.0) -> bytes:
    """The first bytes that the port sends; the log has no end."""
    with contextlib.suppress(OSError), address.open_plain(seconds) as stream:
        for piece in pieces:
            stream.sendall(piece)
        said = b""
        while len(said) < 1_000 and (data := stream.recv(1_000)):
            said += data
            if len(said) > HEAD_BYTES:
                return said
        return said
    return b""


OFFSETS = {
    "0": struct.pack(">q", 0),
    "-1": struct.pack(">q", -1),
    "2^63 - 1": struct.pack(">q", 2**63 - 1),
    "2^40, as an acknowledgement": struct.pack(">q", 1 << 40) * 3,
    "garbage": os.urandom(64),
}


@pytest.mark.parametrize("offset", OFFSETS)
def test_guarded_log_is_not_sent_to_strangers(
    guarded_attack: Trial, guarded_site: Site, offset: str
) -> None:
    what = f"a slave's report of offset {offset}, with access control and TLS"
    with guarded_attack("HA port", what) as attempt:
        said = first_bytes(guarded_site.ha, OFFSETS[offset], seconds=4.0)
        assert len(said) <= HEAD_BYTES, f"{len(said)} bytes of the log came"
        attempt.outcome = f"{len(said)} bytes came"


@pytest.mark.parametrize("offset", [each for each in OFFSETS if each != "0"])
def test_open_ha_port_survives_malformed_data(attack: Trial, open_site: Site, offset: str) -> None:
    with attack("HA port", f"a slave's report of offset {offset}, 50 times, open") as attempt:
        for _ in range(50):
            first_bytes(open_site.ha, OFFSETS[offset], seconds=0.05)
        attempt.outcome = "no effect"


def test_silent_connections_do_not_keep_a_slave_out(attack: Trial, open_site: Site) -> None:
    with (
        attack("HA port", "100 connections that say nothing; then a slave, open") as attempt,
        Connections() as held,
    ):
        held.open(open_site.ha, 100)
        said = first_bytes(open_site.ha, struct.pack(">q", 0), seconds=5.0)
        assert len(said) > HEAD_BYTES, "the slave got nothing of the log"
        attempt.outcome = f"{held.closed()} of 100 closed, the slave gets the log"


def test_silent_connections_are_closed_at_a_guarded_ha_port(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    with (
        guarded_attack("HA port", "200 connections that say nothing, guarded") as attempt,
        Connections() as held,
    ):
        held.open(guarded_site.ha, 200)
        time.sleep(4.0)
        closed = held.closed()
        assert closed == 200, f"only {closed} of 200 were closed within 4 s"
        attempt.outcome = "closed within 4 s"


def test_held_connections_do_not_delay_probes(attack: Trial, open_site: Site) -> None:
    with (
        attack("metrics port", "500 connections held at both servers' probes for 3 s") as attempt,
        Connections() as broker,
        Connections() as names,
    ):
        broker.open(open_site.broker_pages, 500)
        names.open(open_site.names_pages, 500)
        time.sleep(3.0)
        attempt.outcome = f"{broker.closed() + names.closed()} of 1000 closed"


def test_slow_headers_do_not_delay_probes(attack: Trial, open_site: Site) -> None:
    with (
        attack("metrics port", "200 requests whose headers never end, for 3 s") as attempt,
        Connections() as held,
    ):
        held.open(open_site.broker_pages, 200, b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
        for _ in range(6):
            for stream in held.streams:
                with contextlib.suppress(OSError):
                    stream.sendall(b"X-A: b\r\n")
            time.sleep(0.5)
        attempt.outcome = f"{held.closed() + held.refused} of 200 closed"


def test_huge_http_requests_are_refused(attack: Trial, open_site: Site) -> None:
    head = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
    post = b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n"
    chunk = (
        b"POST /health/live HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n"
    )
    attacks = (
        head + b"X: " + b"y" * 4_000_000 + b"\r\n\r\n",
        head + b"X: y\r\n" * 200_000 + b"\r\n",
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n\r\n",
        post + b"z" * 4_000_000,
        chunk + b"z" * 4_000_000,
        b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\xff\xfe\xfd" * 10_000,
    )
    with attack("metrics port", "headers, paths and bodies of megabytes; POSTs; paths") as attempt:
        for request in attacks:
            for address in (open_site.broker_pages, open_site.names_pages):
                said = say(address, request, seconds=1.0)
                assert b"root:" not in said
        attempt.outcome = "refused with 400 and the like, or closed"


def test_flood_of_scrapes_does_not_starve_clients(attack: Trial, open_site: Site) -> None:
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    with (
        attack("metrics port", "300 scrapes at once whose answers are not read") as attempt,
        Connections() as held,
    ):
        held.open(open_site.broker_pages, 300, request)
        time.sleep(2.0)
        attempt.outcome = f"{held.refused} refused"


def test_flood_of_handshakes_does_not_starve_clients(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    with guarded_attack("TLS", "150 handshakes one after the other, nothing behind") as attempt:
        for _ in range(150):
            guarded_site.broker.open().close()
        attempt.outcome = "handshakes are made, others are served"


def test_endless_handshakes_do_not_starve_clients(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    hello = bytes.fromhex("16030102000100")
    with (
        guarded_attack("TLS", "500 handshakes that stop in the first message") as attempt,
        Connections() as held,
    ):
        held.open(guarded_site.broker, 300, hello)
        held.open(guarded_site.names, 200, hello)
        time.sleep(2.0)
        assert guarded_site.is_alive()
        attempt.outcome = f"{held.closed()} of 500 closed, others connect"


def test_garbage_in_place_of_a_handshake_is_closed(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    with guarded_attack("TLS", "400 connections with garbage records") as attempt:
        for _ in range(200):
            for address in (guarded_site.broker, guarded_site.names):
                say(address, b"\x16\x03\x01\x00\x40" + os.urandom(64), seconds=0.02)
        attempt.outcome = "closed"


def test_plain_requests_get_no_answer_where_tls_is_enforced(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    plain = Address(guarded_site.broker.host, guarded_site.broker.port)
    with guarded_attack("TLS", "plain requests at a port that enforces TLS") as attempt:
        with pytest.raises((OSError, ssl.SSLError)), Peer(plain) as peer:
            peer.ask(RequestCode.GET_MAX_OFFSET, {"topic": TOPIC, "queueId": "0"})
        attempt.outcome = "closed without an answer"


def test_renegotiation_and_old_versions_are_refused(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    old = Address(guarded_site.broker.host, guarded_site.broker.port, context)
    with guarded_attack("TLS", "TLS 1.0 and 1.1") as attempt:
        with pytest.raises(OSError, match=r"(?i)version|ssl|reset"):
            old.open()
        attempt.outcome = "refused"


def test_a_log_is_not_read_by_a_signed_client_without_rights(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    guarded_site.create_topic("secret-orders", 1)
    with guarded_attack("access", "an ordinary account pulls a topic it may not read") as attempt:
        with Peer(guarded_site.broker, USER) as peer:
            answer = peer.ask(RequestCode.PULL_MESSAGE, requests.pull("secret-orders", "spies"))
        assert answer.code not in {0, 19}
        attempt.outcome = f"code {answer.code}"
