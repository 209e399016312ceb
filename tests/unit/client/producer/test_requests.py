"""Messages as questions, against a broker's core."""

from __future__ import annotations

import pytest

from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.flow.flow_steps import Flow, Wait
from gantrymq.client.core.instance.replies import NoReplyError, reply
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.producer import requests
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.wire.bodies.shared import MessageQueue


class Trial:
    """One producer that asks, and one that replies."""

    def __init__(self) -> None:
        self.cluster = Cluster("a", topics={"T": 1})
        self.asking = ProducerCore(self.cluster.instance, "asking", ProducerSettings())
        self.replying = ProducerCore(self.cluster.instance, "replying", ProducerSettings())
        for core in (self.asking, self.replying):
            self.cluster.run(core.start())

    async def consume(self, after_s: float) -> None:
        await Wait(self.cluster.driver.clock.monotonic() + after_s)
        (record,) = self.cluster.brokers["a"].records("T", 0)
        message = ReceivedMessage(record, MessageQueue("T", "a", 0))
        await self.replying.send(reply(message, b"pong to " + message.body))

    def ask(self, after_s: float = 0.5) -> ReceivedMessage:
        self.cluster.driver.start(self.consume(after_s), "consumer")
        flow: Flow[ReceivedMessage] = requests.ask(self.asking, Message("T", b"ping"), 2.0)
        return self.cluster.run(flow)


def test_a_request_gets_its_reply() -> None:
    trial = Trial()
    answer = trial.ask()
    assert answer.body == b"pong to ping"
    assert answer.topic == "DefaultCluster_REPLY_TOPIC"
    (record,) = trial.cluster.brokers["a"].records("T", 0)
    told = ReceivedMessage(record, MessageQueue("T", "a", 0)).properties
    assert (told["REPLY_TO_CLIENT"], told["TTL"]) == ("me@1", "2000")


def test_a_missing_reply_raises_no_reply_error() -> None:
    trial = Trial()
    with pytest.raises(NoReplyError, match=r"<T> OK, but wait reply message timeout, 2000 ms"):
        trial.ask(after_s=60.0)
    assert trial.cluster.driver.clock.monotonic() == pytest.approx(2.0)


def test_a_late_reply_is_dropped() -> None:
    trial = Trial()
    with pytest.raises(NoReplyError):
        trial.ask(after_s=3.0)
    trial.cluster.pass_time(2.0)
    assert "not matched any request" in trial.cluster.driver.lines[-1]


def test_only_a_request_is_replied_to() -> None:
    trial = Trial()
    trial.cluster.run(trial.asking.send(Message("T", b"plain")))
    (record,) = trial.cluster.brokers["a"].records("T", 0)
    with pytest.raises(MessageError, match=r"property\[REPLY_TO_CLIENT\] is null"):
        reply(ReceivedMessage(record, MessageQueue("T", "a", 0)), b"pong")
