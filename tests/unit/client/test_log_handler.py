"""Tests log records that become messages."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence

import pytest

from gantrymq.client.core.errors import MessageError, StateError
from gantrymq.client.core.message.message import Message
from gantrymq.client.log_handler import RECORD_BYTES_MAX, LogHandler


class Sender:
    """A producer that does what the test says."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.may_send = threading.Event()
        self.may_send.set()
        self.sends = threading.Event()
        self.failure: Exception | None = None
        self.start_failure: Exception | None = None
        self.starts = 0
        self.is_closed = False
        self.logs = False

    def start(self) -> None:
        self.starts += 1
        if self.start_failure is not None:
            raise self.start_failure
        if self.logs:
            logging.getLogger("app").warning("by the sender's own thread")
            logging.getLogger("gantrymq.client").warning("by the client")

    def send_batch(self, messages: Sequence[Message]) -> object:
        self.sends.set()
        self.may_send.wait(10.0)
        if self.failure is not None:
            raise self.failure
        self.sent += messages
        return None

    def close(self) -> None:
        self.is_closed = True

    @property
    def bodies(self) -> list[bytes]:
        return [message.body for message in self.sent]


@pytest.fixture
def sender() -> Sender:
    return Sender()


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger("app")
    yield found
    for handler in tuple(found.handlers):
        found.removeHandler(handler)
        handler.close()


def test_records_are_sent_with_their_attributes(sender: Sender, logger: logging.Logger) -> None:
    handler = LogHandler("logs", sender)
    logger.addHandler(handler)
    logger.error("it is %s", "broken")
    handler.flush()
    (message,) = sender.sent
    assert (message.topic, message.body, message.tag) == ("logs", b"it is broken", "ERROR")
    assert message.properties["logger"] == "app"
    assert "test_log_handler.py:" in message.properties["file"]
    handler.close()
    assert sender.is_closed


def test_logging_does_not_wait(sender: Sender, logger: logging.Logger) -> None:
    sender.may_send.clear()
    handler = LogHandler("logs", sender, records_max=3)
    logger.addHandler(handler)
    logger.error("under way")
    assert sender.sends.wait(5.0)
    for n in range(5):
        logger.error("%d", n)
    assert handler.dropped == 2
    sender.may_send.set()
    handler.flush()
    assert sender.bodies == [b"under way", b"0", b"1", b"2"]


def test_bytes_are_bounded_too(sender: Sender, logger: logging.Logger) -> None:
    sender.may_send.clear()
    handler = LogHandler("logs", sender, bytes_max=1_000)
    logger.addHandler(handler)
    logger.error("under way")
    assert sender.sends.wait(5.0)
    for _ in range(3):
        logger.error("x" * 400)
    assert handler.dropped == 1
    sender.may_send.set()


def test_records_that_no_broker_accepts_are_counted(sender: Sender, logger: logging.Logger) -> None:
    sender.failure = ZeroDivisionError()
    handler = LogHandler("logs", sender)
    logger.addHandler(handler)
    logger.error("lost")
    handler.flush()
    assert handler.failed == 1
    sender.failure = None
    logger.error("fine")
    handler.flush()
    assert sender.bodies == [b"fine"]


def test_records_of_the_client_are_not_sent(sender: Sender, logger: logging.Logger) -> None:
    sender.logs = True
    client = logging.getLogger("gantrymq.client")
    sender.may_send.clear()
    handler = LogHandler("logs", sender)
    logger.addHandler(handler)
    client.addHandler(handler)
    client.warning("by the client, in another thread")
    sender.may_send.set()
    logger.error("by the application")
    handler.flush()
    client.removeHandler(handler)
    assert sender.bodies == [b"by the application"]


def test_closing_sends_waiting_records(sender: Sender, logger: logging.Logger) -> None:
    handler = LogHandler("logs", sender)
    logger.addHandler(handler)
    for n in range(1_000):
        logger.error("%d", n)
    handler.close()
    assert len(sender.sent) == 1_000
    assert handler.dropped == 0
    logger.error("too late")
    assert handler.dropped == 1
    handler.close()


def test_closing_does_not_wait_for_ever(sender: Sender, logger: logging.Logger) -> None:
    sender.may_send.clear()
    handler = LogHandler("logs", sender, close_timeout_s=0.05)
    logger.addHandler(handler)
    logger.error("under way")
    assert sender.sends.wait(5.0)
    logger.error("waits")
    handler.close()
    assert handler.dropped == 1
    sender.may_send.set()


def test_a_huge_record_is_cut(sender: Sender, logger: logging.Logger) -> None:
    handler = LogHandler("logs", sender)
    logger.addHandler(handler)
    logger.error("x" * (RECORD_BYTES_MAX + 1))
    handler.flush()
    (body,) = sender.bodies
    assert len(body) == RECORD_BYTES_MAX
    assert body.endswith("…(cut)".encode())


def test_an_invalid_topic_is_refused_at_once(sender: Sender) -> None:
    with pytest.raises(MessageError):
        LogHandler("no topic", sender)


def test_a_producer_that_does_not_start_is_logged_once(
    sender: Sender, logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    """It could not be started a second time."""
    sender.start_failure = StateError("the group is taken")
    handler = LogHandler("logs", sender)
    logger.addHandler(handler)
    logger.warning("lost")
    handler.close()
    logger.warning("lost too")
    assert (sender.starts, handler.dropped, sender.sent) == (1, 2, [])
    assert "log handler dropped its records" in caplog.text
    assert "error=the group is taken" in caplog.text
