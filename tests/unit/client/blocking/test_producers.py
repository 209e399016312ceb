"""Tests blocking producers, against servers on loopback."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from gantrymq.client.blocking.consumers import PullConsumer
from gantrymq.client.blocking.producers import Producer, TransactionProducer
from gantrymq.client.core.errors import MessageError, StateError
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.results import SendStatus
from gantrymq.client.core.producer.transactions import TransactionState
from gantrymq.client.log_handler import LogHandler
from gantrymq.fakes.loop_threads import held
from gantrymq.fakes.servers import Servers


@contextmanager
def reader(running: Servers, topic: str = "T") -> Iterator[PullConsumer]:
    with PullConsumer(
        "G", name_servers=running.name_server, consume_from=ConsumeFrom.FIRST_OFFSET
    ) as consumer:
        consumer.subscribe(topic)
        yield consumer


def stored(running: Servers, topic: str, count: int) -> list[bytes]:
    found: list[bytes] = []
    with reader(running, topic) as consumer:
        while len(found) < count and (some := consumer.poll(5.0)):
            found += [message.body for message in some]
    return sorted(found)


def test_messages_are_sent_at_once_and_asynchronously(running: Servers) -> None:
    with Producer("P", name_servers=running.name_server) as producer:
        assert producer.send(Message("T", b"a")).status is SendStatus.SEND_OK
        futures = [producer.send_async(Message("T", b"b%d" % n)) for n in range(3)]
        assert [each.result(10.0).status for each in futures] == [SendStatus.SEND_OK] * 3
        late = producer.send_async(Message("T", b"c"))
    assert late.result(0).status is SendStatus.SEND_OK
    assert stored(running, "T", 5) == [b"a", b"b0", b"b1", b"b2", b"c"]


def test_a_failed_send_async_is_raised_by_its_future(running: Servers) -> None:
    producer = Producer("P", name_servers=running.name_server)
    with pytest.raises(StateError, match="start it first"):
        producer.send_async(Message("T", b"a"))
    with producer:
        future = producer.send_async(Message("T", b"x" * (5 << 20)))
        assert future.exception(10.0) is not None


def test_unobserved_failures_are_counted_in_the_log(
    running: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    """Fire and forget: no caller would know."""
    with Producer("P", name_servers="127.0.0.1:1") as nowhere:
        for number in range(3):
            nowhere.send_async(Message("T", b"%d" % number))
        nowhere.send_async_many("T", [b"3", b"4"])
    with Producer("P", name_servers=running.name_server) as producer:
        producer.send_async(Message("T", b"x" * (5 << 20)))
    texts = [record.getMessage() for record in caplog.records]
    told = [text for text in texts if text.startswith("send_async failed messages=")]
    assert sum(int(text.partition("=")[2].split()[0]) for text in told) == 6
    assert "message body size over max value" in told[-1]


def test_observed_failures_are_not_logged(
    running: Servers, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[object] = []
    with Producer("P", name_servers=running.name_server) as producer:
        with held(producer.thread):
            producer.send_async(Message("T", b"x" * (5 << 20))).add_done_callback(seen.append)
            producer.send_async_many("T", [b""]).add_done_callback(seen.append)
        producer.flush()
    assert len(seen) == 2
    assert "not sent" not in caplog.text


def test_send_async_waits_for_room(running: Servers) -> None:
    with Producer("P", name_servers=running.name_server, waiting_bytes_max=20_000) as producer:
        futures = [producer.send_async(Message("T", b"%04d" % n)) for n in range(200)]
        futures += [producer.send_async(Message("T", b"x" * 5_000)) for _ in range(20)]
        producer.flush()
        assert all(future.done() for future in futures)
        late = [producer.send_async(Message("T", b"y" * 5_000)) for _ in range(20)]
    assert {future.result(0).status for future in futures + late} == {SendStatus.SEND_OK}
    assert len(stored(running, "T", 240)) == 240


def test_lists_are_sent_asynchronously(running: Servers) -> None:
    with Producer("P", name_servers=running.name_server) as producer:
        future = producer.send_async_many("T", (b"%d" % n for n in range(3)), tag="A")
        one = producer.send_async(Message("T", b"3"))
        results = future.result(10.0)
        assert [result.status for result in results] == [SendStatus.SEND_OK] * 3
        assert one.result(10.0).status is SendStatus.SEND_OK
        refused = producer.send_async_many("T", [b"a", b""])
        assert isinstance(refused.exception(10.0), MessageError)
    assert stored(running, "T", 4) == [b"0", b"1", b"2", b"3"]


def test_the_arguments_of_a_list_can_be_reused(running: Servers) -> None:
    with Producer("P", name_servers=running.name_server) as producer:
        bodies, properties = [b"a"], {"number": "1"}
        with held(producer.thread):
            future = producer.send_async_many("T", bodies, properties=properties)
            bodies.append(b"b")
            properties["number"] = "2"
        assert len(future.result(10.0)) == 1
        with pytest.raises(TypeError, match="not str"):
            producer.send_async_many("T", "hello")
    with reader(running) as consumer:
        assert [each.properties["number"] for each in consumer.poll(5.0)] == ["1"]


def test_a_refused_send_does_not_delay_other_sends(running: Servers) -> None:
    """What a future calls is called on the client's own thread."""
    refused: Future[BaseException | None] = Future()

    def again(first: object) -> None:
        try:
            producer.send_async(Message("T", b"b"))
        except StateError as error:
            refused.set_result(error)

    with Producer("P", name_servers=running.name_server) as producer:
        with held(producer.thread):  # else it may be done before, and be called here
            producer.send_async(Message("T", b"a")).add_done_callback(again)
        assert "own event loop" in str(refused.result(10.0))
        producer.send_async(Message("T", b"c")).result(10.0)
    assert stored(running, "T", 3) == [b"a", b"c"]


def test_local_transactions_run_in_threads(running: Servers) -> None:
    names: list[str] = []

    def pay(message: Message, argument: object) -> TransactionState:
        names.append(threading.current_thread().name)
        return TransactionState.COMMIT

    def check(message: object) -> TransactionState:
        return TransactionState.UNKNOWN

    with TransactionProducer("P", check=check, name_servers=running.name_server) as producer:
        producer.send_in_transaction(Message("T", b"paid"), pay)
    assert names[0].startswith("gantrymq-transaction")
    assert stored(running, "T", 1) == [b"paid"]


def test_log_records_arrive(running: Servers) -> None:
    logger = logging.getLogger("app")
    handler = LogHandler("logs", Producer("P", name_servers=running.name_server))
    logger.addHandler(handler)
    logger.error("first")
    handler.flush()
    logger.error("second")
    logger.removeHandler(handler)
    handler.close()
    assert (handler.dropped, handler.failed) == (0, 0)
    assert stored(running, "logs", 2) == [b"first", b"second"]


FORGETFUL = """
import sys
from gantrymq.client import Message
from gantrymq.client.blocking import Producer

def work() -> None:
    producer = Producer("P", name_servers=sys.argv[1], linger_s=60.0)
    producer.start()
    for number in range(50):
        producer.send_async(Message("T", f"{number:02}"))

work()
"""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_waiting_messages_are_sent_at_the_end_of_the_program(running: Servers, host: str) -> None:
    """Though names are resolved by threads, and those of pools have ended by then."""
    name_server = running.name_server.replace("127.0.0.1", host)
    ended = subprocess.run(
        [sys.executable, "-c", FORGETFUL, name_server],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert "producer not closed group=P: sending its waiting messages" in ended.stderr
    assert stored(running, "T", 50) == [b"%02d" % number for number in range(50)]
