"""The window of one broker, against a server that answers as it is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from gantrymq.client.bulk import BulkSettings
from gantrymq.client.bulk.connections import Connections
from gantrymq.client.bulk.errors import NotSupportedError
from gantrymq.client.bulk.outgoing import Origin, OutgoingMessage
from gantrymq.client.bulk.requests import BulkRequest, Lane
from gantrymq.client.bulk.window import BrokerWindow
from gantrymq.client.core.errors import SendError
from gantrymq.wire import frames, javajson
from gantrymq.wire.bodies.route import BrokerData, QueueData, TopicRouteData
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import FLAG_RESPONSE, Command
from gantrymq.wire.frames import FrameReader

QUEUE = MessageQueue("T", "broker-a", 0)
STORED = (ResponseCode.SUCCESS, {"gantryRepeats": "0"})
Answer = tuple[int, dict[str, str]]


class Server:
    """A name server and a broker in one: it answers sends by the function it was given."""

    def __init__(self, answer: Callable[[int], Answer | None]) -> None:
        self.sessions: list[str] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def close(self) -> None:
        socket.create_connection(self._listener.getsockname()).close()
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        """One connection after the other; one that says nothing is the last."""
        is_over = False
        while not is_over:
            try:
                is_over = not self._serve(self._listener.accept()[0])
            except ConnectionError:
                is_over = False  # the client gave it up with answers under way

    def _serve(self, connection: socket.socket) -> bool:
        reader, count = FrameReader(), 0
        with connection:
            while data := connection.recv(1 << 16):
                for command in reader.decode(data):
                    count += 1
                    answer = self._answered(command)
                    if answer is None:
                        return True
                    connection.sendall(frames.encode(answer))
        return count > 0

    def _answered(self, command: Command) -> Command | None:
        if command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            route = TopicRouteData(
                queues=(QueueData("broker-a", 1, 1, 6),),
                brokers=(BrokerData("c", "broker-a", {0: self.address}),),
            )
            body = javajson.dumps_fastjson(route.to_json())
            return Command(0, opaque=command.opaque, flag=FLAG_RESPONSE, body=body)
        answer = self._answer(len(self.sessions))
        self.sessions.append((command.ext or {})["gantrySession"])
        if answer is None:
            return None
        return Command(answer[0], opaque=command.opaque, flag=FLAG_RESPONSE, ext=answer[1])


@contextmanager
def window(
    answer: Callable[[int], Answer | None], waits: list[float]
) -> Iterator[tuple[BrokerWindow, Server]]:
    server = Server(answer)
    settings = BulkSettings(name_servers=(server.address,), group="g", recover_s=5.0)
    connections = Connections(settings)
    try:
        yield BrokerWindow(connections, "broker-a", 4, waits.append), server
    finally:
        connections.close()
        server.close()


def requests(count: int) -> list[BulkRequest]:
    lane = Lane(QUEUE, Origin("s", 1, 0), 10, is_idempotent=True)
    made = [one for row in range(count) for one in lane.add(OutgoingMessage(b"x"), b"", row)]
    return [*made, *lane.take()]


def send(window: BrokerWindow, count: int) -> None:
    for request in requests(count):
        window.send(request)
    window.flush()


def test_all_is_sent_again_in_order_when_the_broker_is_busy() -> None:
    waits: list[float] = []
    with window(
        lambda number: (ResponseCode.SYSTEM_BUSY, {}) if number == 0 else STORED, waits
    ) as (sender, server):
        send(sender, 3)
        assert server.sessions[-3:] == [f"s/0/T/0:1:{number}" for number in range(3)]
    assert waits == [0.05]


def test_all_is_sent_again_when_the_connection_breaks() -> None:
    waits: list[float] = []
    with window(lambda number: None if number == 1 else STORED, waits) as (sender, server):
        send(sender, 3)
        assert server.sessions[-1] == "s/0/T/0:1:2"
    assert waits == [0.05]


def test_a_gap_after_an_acknowledged_request_is_an_error() -> None:
    gap: Answer = (ResponseCode.GANTRY_SESSION_OUT_OF_SEQUENCE, {})
    with (
        window(lambda number: STORED if number == 0 else gap, []) as (sender, _),
        pytest.raises(SendError, match=r"row 1, topic T, .*OUT_OF_SEQUENCE"),
    ):
        send(sender, 2)


def test_a_broker_that_ignores_the_session_is_detected() -> None:
    with (
        window(lambda number: (ResponseCode.SUCCESS, {}), []) as (sender, _),
        pytest.raises(NotSupportedError, match="All members of a group"),
    ):
        send(sender, 1)


def test_repeats_of_tries_of_its_own_do_not_count() -> None:
    repeat = (ResponseCode.SUCCESS, {"gantryRepeats": "1"})
    with window(lambda number: None if number == 0 else repeat, []) as (sender, _):
        send(sender, 2)
        assert sender.repeats <= 1
    with window(lambda number: repeat, []) as (sender, _):
        send(sender, 2)
        assert sender.repeats == 2
