"""One blocking connection, against a server on a real socket."""

from __future__ import annotations

import threading
import time

import pytest

from gantrymq.acl.signature.full_signature import is_signed
from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import RemoteError
from gantrymq.client.bulk.connection import Connection
from gantrymq.fakes.scripted_server import ScriptedServer
from gantrymq.remoting.failures import ConnectError, ConnectionLostError, RequestTimeoutError
from gantrymq.runtime.security.certificates import ClientTls
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.wire.command import Command

KEYS = Credentials("key", "secret")


def echo(request: Command) -> Command:
    return Command(0, ext=request.ext, body=request.body)


def connected(server: ScriptedServer, answer_timeout_s: float = 20.0) -> Connection:
    return Connection(server.address, connect_timeout_s=20.0, answer_timeout_s=answer_timeout_s)


@pytest.mark.parametrize("size", [0, 1, 100, 5_000_000])
def test_body_comes_whole(size: int) -> None:
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    with ScriptedServer(echo) as server:
        connection = connected(server)
        assert connection.ask(Command(11, body=body)).body == body
        connection.close()


def test_answers_are_given_by_number_whatever_their_order() -> None:
    with ScriptedServer(echo) as server:
        connection = connected(server)
        first = connection.send(Command(11, body=b"first"))
        second = connection.send(Command(11, body=b"second"))
        assert connection.receive(second).body == b"second"
        assert connection.receive(first).body == b"first"
        connection.close()


def test_requests_are_signed() -> None:
    with ScriptedServer(echo) as server:
        connection = Connection(
            server.address, connect_timeout_s=20, answer_timeout_s=20, credentials=KEYS
        )
        connection.ask(Command(11, ext={"topic": "T"}))
        connection.close()
        assert is_signed(server.requests[0], "secret")


def test_server_that_closes_the_connection_ends_it() -> None:
    with ScriptedServer(lambda request: None) as server:
        connection = connected(server)
        with pytest.raises(ConnectionLostError, match=server.address):
            connection.ask(Command(11))
        assert not connection.is_open


def test_server_that_says_nothing_times_out() -> None:
    is_over = threading.Event()

    def wait(request: Command) -> Command | None:
        is_over.wait(20)
        return None

    with ScriptedServer(wait) as server:
        connection = connected(server, answer_timeout_s=0.05)
        began = time.monotonic()
        with pytest.raises(RequestTimeoutError, match=r"sent nothing for 0\.05 s"):
            connection.ask(Command(11))
        assert time.monotonic() - began < 10
        assert not connection.is_open
        is_over.set()


def test_bytes_that_are_no_frame_end_the_connection() -> None:
    def too_long(request: Command) -> Command:
        return Command(0, body=bytes(17 << 20))

    with ScriptedServer(too_long) as server:
        connection = connected(server)
        with pytest.raises(RemoteError, match="are allowed"):
            connection.ask(Command(11))
        assert not connection.is_open


def test_server_that_is_not_there_cannot_be_reached() -> None:
    with ScriptedServer(echo) as server:
        address = server.address
    with pytest.raises(ConnectError, match=address):
        Connection(address, connect_timeout_s=5, answer_timeout_s=5)


def test_server_without_tls_cannot_be_reached_by_tls() -> None:
    with (
        ScriptedServer(lambda request: None) as server,
        pytest.raises(ConnectError, match=server.address),
    ):
        Connection(
            server.address,
            connect_timeout_s=0.2,
            answer_timeout_s=5,
            context=ClientContexts(ClientTls()).context,
        )
