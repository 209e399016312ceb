"""Tests sessions whose peer sends nothing while a request waits."""

from __future__ import annotations

from gantrymq.remoting.events import Abandoned, Ended, Reason, Requests, TimedOut
from gantrymq.remoting.limits import SessionLimits
from gantrymq.remoting.session import Session
from gantrymq.wire.command import Command


def pair() -> tuple[Session, Session]:
    """A client with a limit of silence, and a server."""
    return Session(SessionLimits(silence_seconds=0.5), 0.0), Session(SessionLimits(), 0.0)


def test_request_without_any_received_byte_ends_the_session() -> None:
    """Other requests that wait on this connection fail as well."""
    client, _ = pair()
    held = client.request(Command(11), 0.0, 30.0)
    asked = client.request(Command(105), 1.0, 3.0)

    timed_out, ended = client.expire(4.0)

    assert timed_out == TimedOut(asked)
    assert ended == Ended(Reason.SILENT, "nothing arrived for 3 s")
    assert client.closed(Reason.SILENT, 4.0) == [Abandoned(held, Reason.SILENT)]


def test_any_received_byte_keeps_the_session() -> None:
    """Even a response to another request, or half of one."""
    client, server = pair()
    asked = client.request(Command(105), 0.0, 3.0)
    [event] = server.receive(b"".join(client.take_output()), 0.0)
    assert isinstance(event, Requests)
    server.respond(event.commands[0], Command(0, body=bytes(100)))
    answer = b"".join(server.take_output())
    client.receive(answer[:10], 0.1)

    assert client.expire(3.0) == [TimedOut(asked)]
    assert not client.is_over


def test_short_timeout_does_not_end_the_session() -> None:
    client, _ = pair()
    asked = client.request(Command(105), 0.0, 0.4)

    assert client.expire(0.4) == [TimedOut(asked)]


def test_server_tolerates_silent_clients() -> None:
    _, server = pair()
    asked = server.request(Command(220), 0.0, 10.0)

    assert server.expire(10.0) == [TimedOut(asked)]
