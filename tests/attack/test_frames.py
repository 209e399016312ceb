"""Attacks by frames: wrong sizes, growing headers, bodies that inflate, endless frames."""

from __future__ import annotations

import itertools
import struct
import time
import zlib

import lz4.frame  # type: ignore[import-untyped]
import pytest
import zstandard

from gantrymq.attack import requests
from gantrymq.attack.legitimate import TOPIC
from gantrymq.attack.peer import Answers, Connections, Peer, ask_each, say
from gantrymq.attack.site import Site
from gantrymq.attack.trial import MIB, Trial
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message import sys_flag

EMPTY = b'{"code":30,"flag":0,"opaque":1,"extFields":{}}'


def raw_frame(header: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">ii", 4 + len(header) + len(body), len(header)) + header + body


def test_tiny_frames_in_one_write_do_not_stall_the_loop(attack: Trial, open_site: Site) -> None:
    with attack("frames", "10 000 requests of 54 bytes in one write, 10 times") as attempt:
        answers = Answers()
        for _ in range(10):
            with Peer(open_site.broker) as peer:
                peer.send_bytes(raw_frame(EMPTY) * 10_000)
                answers.drain(peer, 10_000, 2.0)
        attempt.outcome = str(answers)


HEADERS = {
    "nested 200 000 deep": b'{"code":30,"extFields":' + b'{"a":' * 200_000,
    "with 300 000 equal keys": b'{"code":30,' + b'"flag":0,' * 300_000 + b'"opaque":1}',
    "with a number of 1 000 000 digits": b'{"code":30,"opaque":' + b"9" * 1_000_000 + b"}",
    "with a key of 1 MB": b'{"code":30,"extFields":{"' + b"k" * 1_000_000 + b'":"1"}}',
    "with 250 000 fields": b'{"code":30,"extFields":{'
    + b",".join(b'"%d":""' % number for number in range(250_000))
    + b"}}",
    "of 1 MB of escapes": b'{"code":30,"remark":"' + b"\\u0041" * 170_000 + b'"}',
    "of invalid UTF-8": b'{"code":30,"remark":"' + b"\xff\xfe\xc3" * 1_000 + b'"}',
}


@pytest.mark.parametrize("kind", HEADERS)
def test_headers_that_grow_do_not_stall_the_loop(attack: Trial, open_site: Site, kind: str) -> None:
    with attack("frames", f"5 JSON headers {kind}") as attempt:
        answers = Answers()
        for _ in range(5):
            with Peer(open_site.broker) as peer:
                peer.send_bytes(raw_frame(HEADERS[kind]))
                answers.drain(peer, 1, 5.0)
        attempt.outcome = str(answers)


def test_wrong_sizes_close_only_their_connection(attack: Trial, open_site: Site) -> None:
    totals = (-(2**31), -1, 0, 3, 2**31 - 1, 16_777_217)
    heads = (0, 0xFFFFFF, 0x01FFFFFF, 0x7F000004, -1)
    with attack("frames", "lengths that lie, in all combinations, at both servers") as attempt:
        said = b""
        for total, head in itertools.product(totals, heads):
            for address in (open_site.broker, open_site.names):
                said += say(address, struct.pack(">ii", total, head) + EMPTY, seconds=0.2)
        assert not said
        attempt.outcome = "each connection closed, no answer"


def test_wrong_binary_headers_close_only_their_connection(attack: Trial, open_site: Site) -> None:
    lengths = (-1, 2**31 - 1, 70_000, -(2**31))
    with attack("frames", "binary headers whose inner lengths lie") as attempt:
        answers = Answers()
        for remark, ext in itertools.product(lengths, lengths):
            header = struct.pack(">hbhiii", 30, 0, 479, 1, 0, remark) + struct.pack(">i", ext)
            frame = struct.pack(">ii", 4 + len(header), 1 << 24 | len(header)) + header
            with Peer(open_site.broker) as peer:
                peer.send_bytes(frame)
                answers.drain(peer, 1, 1.0)
        attempt.outcome = str(answers)


def test_frames_that_never_end_are_bounded(attack: Trial, open_site: Site) -> None:
    begun = struct.pack(">ii", 16_777_000, 40)
    with (
        attack("frames", "300 connections, each with 1 MB of a frame of 16 MB") as attempt,
        Connections() as held,
    ):
        held.open(open_site.broker, 300, begun, b"x" * MIB)
        time.sleep(1.0)
        attempt.outcome = f"{held.closed() + held.refused} of 300 closed"


def test_silent_connections_do_not_keep_clients_out(attack: Trial, open_site: Site) -> None:
    with (
        attack("frames", "1 000 connections that say nothing, at both servers") as attempt,
        Connections() as broker,
        Connections() as names,
    ):
        broker.open(open_site.broker, 1_000)
        names.open(open_site.names, 1_000)
        time.sleep(0.5)
        assert open_site.is_alive()
        attempt.outcome = f"{broker.closed() + names.closed()} of 2000 closed, others connect"


def test_frames_sent_byte_by_byte_do_not_keep_clients_out(attack: Trial, open_site: Site) -> None:
    frame = raw_frame(EMPTY)
    with (
        attack("frames", "200 connections that send their frame a byte at a time") as attempt,
        Connections() as held,
    ):
        held.open(open_site.broker, 200)
        for byte in frame[:30]:
            for stream in held.streams:
                stream.sendall(bytes([byte]))
        attempt.outcome = f"{held.closed()} of 200 closed, others are served"


def test_other_protocols_are_rejected(attack: Trial, open_site: Site) -> None:
    hello = bytes.fromhex("16030100c8010000c40303") + b"\0" * 200
    openings = (
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n" + b"\0" * 50,
        b"\r\n\r\n\0\r\nQUIT\n" + b"\xff" * 300,
        hello,
        b"\x00" * 4_096,
        b"\xff" * 4_096,
    )
    with attack("frames", "HTTP, PROXY headers, TLS, zeros and ones at both servers") as attempt:
        for opening in openings:
            for address in (open_site.broker, open_site.names):
                said = say(address, opening, seconds=0.5)
                assert len(said) < 200, said[:200]
        attempt.outcome = "closed, or waiting for more"


def _bombs() -> dict[str, tuple[int, bytes]]:
    zeros = b"\0" * (64 * MIB)
    kinds = {
        "zlib": (3, zlib.compress(zeros)),
        "lz4": (1, lz4.frame.compress(zeros)),
        "zstd": (2, zstandard.compress(zeros)),
    }
    return {
        name: (sys_flag.COMPRESSED | kind << sys_flag.COMPRESSION_SHIFT, data)
        for name, (kind, data) in kinds.items()
    }


def test_compression_bombs_in_bodies_are_not_inflated(attack: Trial, open_site: Site) -> None:
    open_site.create_topic("bombs", 1)
    with attack("frames", "bodies of 64 MiB packed by zlib, lz4 and zstd, sent and pulled") as it:
        answers = Answers()
        with Peer(open_site.broker) as peer:
            for flag, data in _bombs().values():
                for _ in range(5):
                    ext = requests.send("bombs", sys_flag=flag)
                    answers.add(peer.ask(RequestCode.SEND_MESSAGE_V2, ext, data))
            for _ in range(5):
                ext = requests.pull("bombs", "bomb-readers")
                answers.add(peer.ask(RequestCode.PULL_MESSAGE, ext))
        it.outcome = str(answers)


def test_batches_with_wrong_sizes_are_refused(attack: Trial, open_site: Site) -> None:
    part = struct.pack(">iiiii", 22, 0, 0, 0, 0) + struct.pack(">h", 0)
    lies = {
        "many": part * 180_000,
        "negative": struct.pack(">iiiii", -1, 0, 0, 0, -1) + b"\0" * 100,
        "long": struct.pack(">iiiii", 2**31 - 1, 0, 0, 0, 2**31 - 30) + b"\0" * 100,
        "short": part * 10 + b"\0",
    }
    with attack("frames", "batches of 180 000 empty messages, and with sizes that lie") as attempt:
        ext = {**requests.send(TOPIC), "m": "true"}
        answers = ask_each(
            open_site.broker,
            [(RequestCode.SEND_BATCH_MESSAGE, ext, body) for body in lies.values()],
        )
        assert not answers.counts["code 0"]
        attempt.outcome = str(answers)
