"""Tests the deadlines of a session: timeouts of requests, idleness, and slow frames."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import LocalError
from gantrymq.fakes.sessions import carry, drop, pair, requests, some_requests
from gantrymq.remoting.events import (
    Abandoned,
    Ended,
    Event,
    Reason,
    TimedOut,
)
from gantrymq.remoting.session import STALE_EXPIRIES_MAX
from gantrymq.wire.command import Command


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
