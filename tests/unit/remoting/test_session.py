"""Tests two sessions that are joined in memory: `carry` is the network, and time is a number."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError
from gantrymq.remoting.events import (
    Abandoned,
    Answered,
    Ended,
    Event,
    Reason,
    Requests,
    TimedOut,
)
from gantrymq.remoting.limits import REQUEST_OVERHEAD_BYTES, SessionLimits
from gantrymq.remoting.session import JOIN_BYTES_MAX, STALE_EXPIRIES_MAX, Session
from gantrymq.wire.command import Command, Encoding
from gantrymq.wire.frames import encode
from gantrymq.wire.version import OWN_VERSION

LIMITS = SessionLimits()
SMALL = SessionLimits(
    requests_out_max=2, requests_in_max=4, bytes_in_max=64 * 1024, bytes_out_max=4096
)


def carry(sender: Session, receiver: Session, now: float = 0.0) -> list[Event]:
    """Everything the sender has to say, delivered."""
    events: list[Event] = []
    for piece in sender.take_output():
        events += receiver.receive(piece, now)
    return events


def drop(sender: Session) -> None:
    """Everything the sender has to say, lost."""
    sender.take_output()


def requests(events: list[Event]) -> list[Command]:
    return [
        command for event in events if isinstance(event, Requests) for command in event.commands
    ]


def pair(limits: SessionLimits = LIMITS) -> tuple[Session, Session]:
    return Session(limits, 0.0, language=3), Session(limits, 0.0)


def some_requests(count: int, *, body: bytes = b"", version: int = 479) -> bytes:
    return b"".join(
        encode(Command(105, opaque=opaque, body=body, version=version)) for opaque in range(count)
    )


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


# ---------------------------------------------------------------------- time


def test_a_lost_request_times_out_once() -> None:
    client, _ = pair()
    opaque = client.request(Command(105), 10.0, 3.0)
    drop(client)

    assert client.deadline() == 13.0
    assert client.expire(12.9) == []
    assert client.expire(13.0) == [TimedOut(opaque)]
    assert client.expire(14.0) == []
    assert client.requests_out == 0


def test_shortest_timeout_expires_first() -> None:
    client, _ = pair()
    slow = client.request(Command(105), 0.0, 30.0)
    quick = client.request(Command(105), 0.0, 1.0)

    assert client.expire(1.0) == [TimedOut(quick)]
    assert client.expire(30.0) == [TimedOut(slow)]


def test_timeouts_of_answered_requests_leave_nothing_behind() -> None:
    client, server = pair()
    keeper = client.request(Command(105), 0.0, 0.5)
    for _ in range(3 * STALE_EXPIRIES_MAX):
        client.request(Command(105), 0.0, 60.0)
        request = requests(carry(client, server))[-1]
        server.respond(request, Command(0))
        carry(server, client)

    assert client.requests_out == 1
    assert len(client._expiries) <= STALE_EXPIRIES_MAX + 2
    assert client.expire(0.5) == [TimedOut(keeper)]


def test_silence_ends_the_session_and_received_bytes_restart_the_timeout() -> None:
    _, server = pair()
    assert server.deadline() == 120.0
    server.receive(some_requests(1), 100.0)

    assert server.expire(219.9) == []
    assert server.expire(220.0) == [Ended(Reason.IDLE, "nothing arrived for 120 s")]
    assert server.deadline() is None
    assert server.receive(some_requests(1), 221.0) == []


def test_half_open_connection_is_closed_as_idle_and_fails_pending_requests() -> None:
    client, _ = pair()
    opaque = client.request(Command(105), 0.0, 600.0)
    drop(client)

    [end] = client.expire(120.0)

    assert isinstance(end, Ended)
    assert client.closed(end.reason, 120.0) == [Abandoned(opaque, Reason.IDLE)]


def test_a_closed_connection_fails_every_pending_request_and_forgets_its_output() -> None:
    client, _ = pair()
    opaques = [client.request(Command(105), 0.0, 3.0) for _ in range(2)]

    events = client.closed(Reason.PEER_CLOSED, 1.0)

    assert events == [Abandoned(opaque, Reason.PEER_CLOSED) for opaque in opaques]
    assert client.take_output() == []
    assert client.closed(Reason.PEER_CLOSED, 1.0) == []
    with pytest.raises(LocalError):
        client.request(Command(105), 1.0, 3.0)


# ---------------------------------------------------------------------- a slow frame


def test_a_frame_must_complete_in_its_time() -> None:
    _, server = pair()
    server.receive(some_requests(1)[:20], 5.0)

    assert server.deadline() == pytest.approx(15.0, abs=0.01)
    assert server.expire(14.9) == []
    assert server.expire(15.1) == [Ended(Reason.SLOW_FRAME, "only 20 bytes of a frame arrived")]


def test_trickled_bytes_do_not_extend_the_frame_timeout() -> None:
    _, server = pair()
    stream = some_requests(1, body=bytes(4096))
    now, sent = 0.0, 0
    while not server.is_over:
        server.receive(stream[sent : sent + 1], now)
        sent, now = sent + 1, now + 1.0
        server.expire(now)

    assert now == pytest.approx(11.0)


def test_slow_link_can_send_a_large_frame() -> None:
    _, server = pair()
    stream = some_requests(1, body=bytes(1024 * 1024))
    events: list[Event] = []
    now = 0.0
    for start in range(0, len(stream), 20 * 1024):  # 20 KiB a second: 52 s
        events += server.receive(stream[start : start + 20 * 1024], now)
        events += server.expire(now)
        now += 1.0

    assert len(requests(events)) == 1
    assert not server.is_over


def test_next_frame_has_its_own_timeout() -> None:
    _, server = pair()
    stream = some_requests(2)
    half = len(stream) // 2
    server.receive(stream[: half - 5], 0.0)
    server.receive(stream[half - 5 : half + 5], 9.0)

    assert server.expire(18.9) == []
    assert len(requests(server.receive(stream[half + 5 :], 18.9))) == 1


def test_paused_reading_does_not_count_towards_the_frame_timeout() -> None:
    _, server = pair()
    server.receive(some_requests(1)[:20], 0.0)
    server.hold()
    assert server.expire(50.0) == []

    server.resume(50.0)

    assert server.expire(59.0) == []
    assert [type(event) for event in server.expire(61.0)] == [Ended]


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


# ---------------------------------------------------------------------- bounds


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
