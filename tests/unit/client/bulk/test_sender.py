"""The bulk sender against a real broker: what is stored, over retries, kills and bad input."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.client.blocking import Admin
from gantrymq.client.bulk import BulkSettings
from gantrymq.client.bulk.layout import Layout
from gantrymq.client.bulk.outgoing import Origin, OutgoingMessage
from gantrymq.client.bulk.sender import BulkSender, SendLimits
from gantrymq.client.core.errors import MessageError, RouteError, SendError
from gantrymq.fakes.stores.stored_bodies import stored_bodies, stored_messages
from gantrymq.testing.server import StandaloneServer

# Small ones, so that many requests are under way.
LIMITS = SendLimits(batch_bytes=2000)
TOPIC = "orders"
ROWS = 3000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneServer]:
    with StandaloneServer(tmp_path_factory.mktemp("gantry")) as server:
        yield server


@pytest.fixture
def topic(server: StandaloneServer, request: pytest.FixtureRequest) -> str:
    name: str = request.node.name.split("[", maxsplit=1)[0]
    with Admin(name_servers=server.name_servers) as admin:
        admin.create_topic(name, queues=4)
    return name


def settings(server: StandaloneServer, recover_s: float = 60.0) -> BulkSettings:
    return BulkSettings(name_servers=(server.name_servers,), group="bulk-test", recover_s=recover_s)


def send_rows(sender: BulkSender, layout: Layout, rows: range) -> None:
    for row in rows:
        sender.send(OutgoingMessage(b"%d" % row), layout.by_number(row))


def run(
    server: StandaloneServer, topic: str, rows: int = ROWS, epoch: int = 0, partition: int = 0
) -> None:
    origin = Origin("sink", epoch, partition)
    with BulkSender(settings(server), origin, LIMITS, is_idempotent=True) as sender:
        send_rows(sender, sender.layout(topic), range(rows))
        sender.flush()


def bodies(server: StandaloneServer, topic: str) -> dict[int, list[int]]:
    found = stored_bodies(server.name_servers, topic)
    return {queue: [int(body) for body in queue_bodies] for queue, queue_bodies in found.items()}


def in_order(rows: int) -> dict[int, list[int]]:
    return {queue: list(range(queue, rows, 4)) for queue in range(4)}


def test_rows_arrive_once_and_in_order(server: StandaloneServer, topic: str) -> None:
    run(server, topic)
    assert bodies(server, topic) == in_order(ROWS)


def test_a_run_that_is_repeated_stores_nothing_twice(server: StandaloneServer, topic: str) -> None:
    run(server, topic, rows=1234)
    run(server, topic)
    run(server, topic)
    assert bodies(server, topic) == in_order(ROWS)


def test_a_new_epoch_stores_anew_and_fences_the_old_one(
    server: StandaloneServer, topic: str
) -> None:
    run(server, topic, rows=100, epoch=1)
    run(server, topic, rows=100, epoch=2)
    assert sum(map(len, bodies(server, topic).values())) == 200
    with pytest.raises(SendError, match="GANTRY_SESSION_FENCED"):
        run(server, topic, epoch=1)


def test_at_least_once_stores_each_run(server: StandaloneServer, topic: str) -> None:
    for _ in range(2):
        with BulkSender(settings(server), Origin("load", 0, 0), LIMITS) as sender:
            send_rows(sender, sender.layout(topic), range(40))
            sender.flush()
    assert sum(map(len, bodies(server, topic).values())) == 80
    keys = [
        message.properties["UNIQ_KEY"] for message in stored_messages(server.name_servers, topic)
    ]
    assert len(set(keys)) == 40


def test_all_fields_of_a_message_are_stored(server: StandaloneServer, topic: str) -> None:
    said = {"TAGS": "paid", "KEYS": "k1 k2", "__SHARDINGKEY": "a", "käse": "gut"}
    with BulkSender(settings(server), Origin("load", 0, 7)) as sender:
        queue = sender.layout(topic).queues[2]
        sender.send(OutgoingMessage(b"x", said, flag=9), queue)
        sender.flush()
    (message,) = stored_messages(server.name_servers, topic)
    assert (message.body, message.flag, message.queue_id) == (b"x", 9, 2)
    assert said.items() <= message.properties.items()
    assert message.properties["UNIQ_KEY"].endswith("0000000700000000")


def test_a_pinned_layout_stays(server: StandaloneServer, topic: str) -> None:
    run(server, topic, rows=100)
    with Admin(name_servers=server.name_servers) as admin:
        admin.create_topic(topic, queues=6)
    run(server, topic, rows=100)
    assert bodies(server, topic) == {**in_order(100), 4: [], 5: []}


def test_a_delayed_row_is_sent_alone_and_once(server: StandaloneServer, topic: str) -> None:
    for _ in range(2):
        with BulkSender(settings(server), Origin("sink", 0, 0), is_idempotent=True) as sender:
            queue = sender.layout(topic).queues[0]
            for row in range(3):
                delay = {"DELAY": "1"} if row == 1 else {}
                sender.send(OutgoingMessage(b"%d" % row, delay), queue)
            sender.flush()
    found = stored_bodies(server.name_servers, topic, count=3)
    assert found[0] == [b"0", b"2", b"1"]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (OutgoingMessage(b""), "row 2: the body is empty"),
        (OutgoingMessage(bytes(1001)), "row 2: the body has 1001 bytes"),
        (OutgoingMessage(b"x", {"a": "\x02"}), "row 2: the property 'a'"),
        (OutgoingMessage(b"x", {"a": "x" * 33_000}), "row 2: the properties have"),
    ],
)
def test_a_row_that_can_never_be_sent_is_named(
    server: StandaloneServer, topic: str, message: OutgoingMessage, text: str
) -> None:
    limits = SendLimits(message_bytes_max=1000)
    with BulkSender(settings(server), Origin("load", 0, 0), limits) as sender:
        layout = sender.layout(topic)
        send_rows(sender, layout, range(2))
        with pytest.raises(MessageError, match=text):
            sender.send(message, layout.queues[0])


def test_an_unknown_topic_is_a_route_error(server: StandaloneServer) -> None:
    with (
        BulkSender(settings(server), Origin("load", 0, 0)) as sender,
        pytest.raises(RouteError, match="nowhere"),
    ):
        sender.layout("nowhere")


def test_an_unknown_queue_is_a_send_error(server: StandaloneServer, topic: str) -> None:
    with BulkSender(settings(server), Origin("load", 0, 0)) as sender:
        queue = sender.layout(topic).queues[0]
        missing = type(queue)(topic, queue.broker_name, 99)
        sender.send(OutgoingMessage(b"x"), missing)
        with pytest.raises(SendError, match=r"row 0, topic .* queue 99: refused, code 29"):
            sender.flush()


def test_an_unreachable_broker_is_a_send_error(tmp_path: Path) -> None:
    with StandaloneServer(tmp_path) as server:
        with Admin(name_servers=server.name_servers) as admin:
            admin.create_topic(TOPIC, queues=4)
        with BulkSender(settings(server, recover_s=0.5), Origin("load", 0, 0)) as sender:
            send_rows(sender, sender.layout(TOPIC), range(1))
            server.kill()
            with pytest.raises(SendError, match=r"row 0, .* not acknowledged for 0 s"):
                sender.flush()


def test_a_broker_that_is_killed_again_and_again_stores_each_row_once(tmp_path: Path) -> None:
    flags = ("--set", "flushDiskType=SYNC_FLUSH")
    with StandaloneServer(tmp_path, flags) as server:
        with Admin(name_servers=server.name_servers) as admin:
            admin.create_topic(TOPIC, queues=4)
        failures: list[BaseException] = []

        def send() -> None:
            try:
                run(server, TOPIC, rows=20_000)
            except BaseException as error:
                failures.append(error)

        sending = threading.Thread(target=send)
        sending.start()
        for _ in range(3):
            sending.join(0.5)
            server.kill()
            server.start_again()
        sending.join()
        assert not failures
        run(server, TOPIC, rows=20_000)
        assert bodies(server, TOPIC) == in_order(20_000)
