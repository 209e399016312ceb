"""Tests the bounds of a session: requests in flight, input, output and frame sizes."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import LocalError
from gantrymq.fakes.sessions import LIMITS, SMALL, carry, pair, requests, some_requests
from gantrymq.remoting.events import (
    Answered,
    Ended,
    Reason,
)
from gantrymq.remoting.limits import REQUEST_OVERHEAD_BYTES, SessionLimits
from gantrymq.remoting.session import JOIN_BYTES_MAX, Session
from gantrymq.wire.command import Command, Encoding
from gantrymq.wire.frames import encode
from gantrymq.wire.version import OWN_VERSION


def test_own_requests_in_flight_are_bounded() -> None:
    client, server = pair(SMALL)
    client.request(Command(105), 0.0, 3.0)
    client.request(Command(105), 0.0, 3.0)
    with pytest.raises(LocalError, match="bound is 2"):
        client.request(Command(105), 0.0, 3.0)

    for request in requests(carry(client, server)):
        server.respond(request, Command(0))
    carry(server, client)

    assert client.request(Command(105), 0.0, 3.0) >= 0


def test_a_flood_saturates_the_session_until_half_of_it_is_answered() -> None:
    server = Session(SMALL, 0.0)
    flood = requests(server.receive(some_requests(4), 0.0))
    assert server.is_saturated

    states = []
    for request in flood[:2]:
        server.respond(request, Command(0))
        states.append((server.is_saturated, server.has_room))

    assert states == [(False, False), (False, True)]


def test_few_large_requests_saturate_it_as_well() -> None:
    server = Session(SMALL, 0.0)
    large = b"x" * (64 * 1024 - REQUEST_OVERHEAD_BYTES)
    [request] = requests(server.receive(some_requests(1, body=large), 0.0))
    assert server.is_saturated

    server.respond(request, Command(0))

    assert server.has_room


def test_long_header_counts_like_a_body() -> None:
    server = Session(SMALL, 0.0)
    long = Command(11, ext={"subscription": "x" * 64 * 1024})
    [request] = requests(server.receive(encode(long), 0.0))
    assert server.is_saturated

    server.respond(request, Command(0))

    assert server.has_room


def test_a_flood_of_oneway_requests_saturates_it_until_half_of_it_is_served() -> None:
    server = Session(SMALL, 0.0)
    flood = requests(server.receive(encode(Command(40, flag=2)) * 4, 0.0))
    assert server.is_saturated

    for request in flood[:2]:
        server.release(request)

    assert server.has_room


def test_oneway_requests_are_served_while_the_session_drains() -> None:
    server = Session(LIMITS, 0.0)
    server.drain()
    [request] = requests(server.receive(encode(Command(40, flag=2, version=500)), 0.0))
    assert not server.is_drained

    server.release(request)

    assert server.is_drained


@pytest.mark.parametrize("body_bytes", [4096, JOIN_BYTES_MAX])
def test_response_longer_than_the_peer_accepts_is_refused_with_its_size(body_bytes: int) -> None:
    server = Session(SessionLimits(frame_bytes_max=4096), 0.0)
    client = Session(LIMITS, 0.0)
    opaque = client.request(Command(206, encoding=Encoding.BINARY), 0.0, 3.0)
    [request] = requests(carry(client, server))

    server.respond(request, Command(0, body=bytes(body_bytes)))

    [answered] = carry(server, client)
    assert isinstance(answered, Answered)
    response = answered.response
    assert (answered.opaque, response.code, response.body) == (opaque, 1, b"")
    assert str(response.remark).startswith("the answer cannot be sent: it takes ")
    assert str(response.remark).endswith(" bytes, 4096 are allowed")
    assert server.requests_in == 0


def test_frame_of_the_maximal_size_is_sent_and_accepted() -> None:
    overhead = len(encode(Command(0, flag=1, version=OWN_VERSION)))
    limits = SessionLimits(frame_bytes_max=overhead + 1000)
    client, server = pair(limits)
    client.request(Command(206), 0.0, 3.0)
    [request] = requests(carry(client, server))

    server.respond(request, Command(0, body=bytes(1000)))

    [answered] = carry(server, client)
    assert isinstance(answered, Answered)
    assert len(answered.response.body) == 1000


def test_own_request_longer_than_the_peer_accepts_is_a_local_error() -> None:
    client = Session(SessionLimits(frame_bytes_max=4096), 0.0)

    with pytest.raises(LocalError, match="4096 are allowed"):
        client.request(Command(310, body=bytes(4096)), 0.0, 3.0)

    assert client.requests_out == 0
    assert client.take_output() == []


def test_output_that_the_peer_does_not_read_overflows() -> None:
    server = Session(SMALL, 0.0)
    first, second, *_ = requests(server.receive(some_requests(4), 0.0))

    overflowing = []
    for request in (first, second):
        server.respond(request, Command(0, body=bytes(3000)))
        overflowing.append(server.is_overflowing)

    assert overflowing == [False, True]
    assert sum(map(len, server.take_output())) > SMALL.bytes_out_max
    assert server.output_bytes == 0


def test_a_frame_beyond_the_bound_is_refused_at_its_prefix() -> None:
    server = Session(SessionLimits(frame_bytes_max=1000), 0.0)

    events = server.receive(some_requests(1, body=bytes(1000))[:8], 0.0)

    assert [event.reason for event in events if isinstance(event, Ended)] == [Reason.GARBAGE]


def test_small_output_leaves_as_one_piece_and_large_bodies_are_not_copied() -> None:
    server = Session(LIMITS, 0.0)
    asked = requests(server.receive(some_requests(6), 0.0))
    large = bytes(JOIN_BYTES_MAX)
    for request in asked[:4]:
        server.respond(request, Command(0, body=b"small"))
    assert len(server.take_output()) == 1

    server.respond(asked[4], Command(0, body=b"small"))
    server.respond(asked[5], Command(0, body=large))
    pieces = server.take_output()

    assert any(piece is large for piece in pieces)
    client = Session(LIMITS, 0.0)
    client.receive(b"".join(pieces), 0.0)
    assert client.unmatched_responses == 2
