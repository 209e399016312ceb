"""Tests the keepalive options of connections; tests/cycles cuts real connections."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.net.keepalive import notice_silence

WANTED = {
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE): 1,
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE): 3,
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL): 1,
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT): 7,
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT): 10_000,
}


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with socket.socket() as made:
        yield made


def options(of: socket.socket) -> dict[tuple[int, int], int]:
    return {option: of.getsockopt(*option) for option in WANTED}


def test_system_probes_an_idle_peer_and_gives_up(connection: socket.socket) -> None:
    assert options(connection) != WANTED
    notice_silence(connection)
    assert options(connection) == WANTED


def test_options_that_the_system_lacks_are_left_out(
    connection: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "TCP_KEEPIDLE")
    notice_silence(connection)
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert connection.getsockopt(socket.IPPROTO_TCP, 4) != 3, "Linux's number of it"


async def test_outgoing_connection_has_keepalive(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[tuple[int, int], int]] = []

    def noted(made: socket.socket) -> None:
        notice_silence(made)
        seen.append(options(made))

    monkeypatch.setattr("gantrymq.runtime.net.dialer.notice_silence", noted)
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    dialer = Dialer()
    await dialer.connection(f"{host}:{port}")._connected(30.0)
    await dialer.close()
    server.close()
    assert seen == [WANTED]
