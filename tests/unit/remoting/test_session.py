"""Tests two sessions that are joined in memory: `carry` is the network, and time is a number."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError
from gantrymq.fakes.sessions import LIMITS, carry, pair, requests, some_requests
from gantrymq.remoting.events import (
    Answered,
    Ended,
    Reason,
    Requests,
)
from gantrymq.remoting.session import Session
from gantrymq.wire.command import Command, Encoding
from gantrymq.wire.frames import encode

# ---------------------------------------------------------------------- correlation


@pytest.mark.parametrize("encoding", [Encoding.JSON, Encoding.BINARY])
def test_a_response_finds_its_request_in_the_encoding_of_the_question(encoding: Encoding) -> None:
    client, server = pair()
    opaque = client.request(Command(105, encoding=encoding, ext={"topic": "T"}), 0.0, 3.0)

    [request] = requests(carry(client, server))
    assert (request.language, request.version, request.is_response) == (3, 479, False)
    server.respond(request, Command(17, remark="no route"))
    [answer] = carry(server, client)

    assert isinstance(answer, Answered)
    response = answer.response
    assert (answer.opaque, response.code, response.remark) == (opaque, 17, "no route")
    assert (response.encoding, response.language, response.version) == (encoding, 0, 479)
    assert response.is_response
    assert client.requests_out == server.requests_in == 0


def test_both_ends_may_use_the_same_opaques_at_the_same_time() -> None:
    client, server = pair()
    ours = client.request(Command(34), 0.0, 3.0)
    theirs = server.request(Command(307), 0.0, 3.0)
    assert ours == theirs

    [asked] = requests(carry(client, server))
    [asked_back] = requests(carry(server, client))
    server.respond(asked, Command(0, body=b"server"))
    client.respond(asked_back, Command(0, body=b"client"))

    assert [event.response.body for event in carry(server, client) if isinstance(event, Answered)]
    [event] = carry(client, server)
    assert isinstance(event, Answered)
    assert event.response.body == b"client"


def test_responses_may_come_in_any_order() -> None:
    client, server = pair()
    opaques = [client.request(Command(105), 0.0, 3.0) for _ in range(3)]
    asked = requests(carry(client, server))
    for request in reversed(asked):
        server.respond(request, Command(0))

    answered = [event.opaque for event in carry(server, client) if isinstance(event, Answered)]

    assert answered == opaques[::-1]


def test_a_oneway_request_is_never_answered() -> None:
    client, server = pair()
    client.notify(Command(40))
    [request] = requests(carry(client, server))
    assert request.is_oneway

    assert server.requests_in == 1

    server.respond(request, Command(0))

    assert server.take_output() == []
    assert server.requests_in == 0


def test_unmatched_and_repeated_responses_are_counted_and_ignored() -> None:
    client, server = pair()
    client.request(Command(105), 0.0, 3.0)
    [request] = requests(carry(client, server))
    server.respond(request, Command(0))
    [response] = server.take_output()

    assert len(client.receive(response, 0.0)) == 1
    assert client.receive(response, 0.0) == []
    assert client.receive(encode(Command(0, opaque=77, flag=1)), 0.0) == []
    assert client.unmatched_responses == 2
    assert not client.is_over


def test_an_answer_to_a_forgotten_request_is_ignored() -> None:
    client, server = pair()
    client.forget(client.request(Command(105), 0.0, 3.0))
    [request] = requests(carry(client, server))
    server.respond(request, Command(0))

    assert carry(server, client) == []
    assert client.requests_out == 0


def test_answering_twice_is_a_programming_error() -> None:
    client, server = pair()
    client.request(Command(105), 0.0, 3.0)
    [request] = requests(carry(client, server))
    server.respond(request, Command(0))

    with pytest.raises(AssertionError, match="twice"):
        server.respond(request, Command(0))


def test_released_request_frees_its_slot_without_a_response() -> None:
    client, server = pair()
    client.request(Command(105), 0.0, 3.0)
    [request] = requests(carry(client, server))

    server.release(request)

    assert server.requests_in == 0
    assert server.take_output() == []


def test_opaques_wrap_within_int32_and_skip_pending_requests() -> None:
    client, _ = pair()
    client._next_opaque = 0x7FFFFFFF
    last = client.request(Command(105), 0.0, 3.0)
    client._pending[0] = 3.0

    assert last == 0x7FFFFFFF
    assert client.request(Command(105), 0.0, 3.0) == 1


@given(st.lists(st.integers(0, 400), max_size=20))
def test_any_cut_of_the_stream_gives_the_same_requests(cuts: list[int]) -> None:
    stream = some_requests(4, body=b"body")
    bounds = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    server = Session(LIMITS, 0.0)

    events = [
        event for start, end in pairwise(bounds) for event in server.receive(stream[start:end], 0.0)
    ]

    assert [request.opaque for request in requests(events)] == [0, 1, 2, 3]


# ---------------------------------------------------------------------- garbage


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
        (17 * 1024 * 1024).to_bytes(4, "big") + bytes(16),
        (-5).to_bytes(4, "big", signed=True) + bytes(16),
        (0).to_bytes(4, "big") + bytes(16),
        (24).to_bytes(4, "big") + (100).to_bytes(4, "big") + bytes(20),
        (24).to_bytes(4, "big") + b"\x02\x00\x00\x14" + bytes(20),
        (24).to_bytes(4, "big") + b"\x00\x00\x00\x14" + b"this is not JSON !!!",
        (24).to_bytes(4, "big") + b"\x01\x00\x00\x14" + b"\xff" * 20,
    ],
    ids=["http", "tls", "huge", "negative", "zero", "header", "type", "json", "binary"],
)
def test_garbage_ends_the_session_after_the_good_requests_before_it(garbage: bytes) -> None:
    _, server = pair()

    events = server.receive(some_requests(2) + garbage, 0.0)

    assert len(requests(events)) == 2
    assert isinstance(events[-1], Ended)
    assert events[-1].reason is Reason.GARBAGE
    assert events[-1].detail
    assert server.is_over
    assert server.buffered_bytes == 0
    assert server.receive(some_requests(1), 0.0) == []


@given(st.binary(max_size=300))
def test_any_bytes_end_the_session_or_wait_within_bounds(data: bytes) -> None:
    server = Session(LIMITS, 0.0)

    events = server.receive(data, 0.0)

    assert server.buffered_bytes <= len(data)
    assert server.is_over == any(isinstance(event, Ended) for event in events)


@given(position=st.integers(0, 90), damage=st.integers(1, 255))
def test_damaged_byte_raises_no_error_in_the_session(position: int, damage: int) -> None:
    stream = bytearray(some_requests(2, body=b"body"))
    stream[position] ^= damage
    server = Session(LIMITS, 0.0)

    events = server.receive(bytes(stream), 0.0)

    assert all(isinstance(event, Requests | Ended) for event in events)
    # A length that lies makes the session wait; the clock settles that.
    assert server.is_over or server.buffered_bytes <= len(stream)


# ---------------------------------------------------------------------- draining


def test_draining_finishes_requests_in_flight_and_accepts_no_new_ones() -> None:
    client, server = pair()
    client.request(Command(105), 0.0, 3.0)
    [request] = requests(carry(client, server))
    server.drain()
    with pytest.raises(LocalError):
        server.request(Command(307), 0.0, 3.0)

    server.respond(request, Command(0))
    drained_before = server.is_drained  # the answer has still to leave
    [answer] = carry(server, client)

    assert isinstance(answer, Answered)
    assert (drained_before, server.is_drained) == (False, True)


def test_new_clients_are_told_to_go_away_and_old_ones_are_served() -> None:
    server = Session(LIMITS, 0.0)
    server.drain()

    new = server.receive(some_requests(1, version=477), 0.0)
    old = server.receive(some_requests(1, version=475), 0.0)

    assert requests(new) == []
    assert len(requests(old)) == 1
    client = Session(LIMITS, 0.0)
    client.request(Command(105), 0.0, 3.0)
    [answer] = carry(server, client)
    assert isinstance(answer, Answered)
    assert answer.response.code == 1500
