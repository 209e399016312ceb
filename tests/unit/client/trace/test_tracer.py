"""Message traces, against a broker's core."""

from __future__ import annotations

import pytest

from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.instance.hooks import ConsumeContext
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.producer.transactions import Transactions, TransactionState
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.trace.tracer import RECORDS_MAX, Tracer
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message import properties

TRACES = "RMQ_SYS_TRACE_TOPIC"


class Trial:
    """A producer that is traced."""

    def __init__(self) -> None:
        self.cluster = Cluster("a", topics={"T": 1})
        self.core = ProducerCore(self.cluster.instance, "G", ProducerSettings(trace=True))
        self.cluster.run(self.core.start())

    def traces(self) -> list[list[str]]:
        """The fields of each record that was stored."""
        records = self.cluster.brokers["a"].records(TRACES, 0)
        queue = MessageQueue(TRACES, "a", 0)
        bodies = [ReceivedMessage(record, queue).body.decode() for record in records]
        lines = "".join(bodies).split("\x02")[:-1]
        return [line.split("\x01") for line in lines]

    def keys(self) -> str | None:
        (record,) = self.cluster.brokers["a"].records(TRACES, 0)
        return properties.get(record.properties, "KEYS")


def test_a_send_is_traced() -> None:
    trial = Trial()
    message = Message("T", b"hello", tag="A", keys=["k1", "k2"])
    result = trial.cluster.run(trial.core.send(message))
    assert trial.traces() == []
    trial.cluster.driver.pass_time(5.0)
    (fields,) = trial.traces()
    assert fields[0] == "Pub"
    assert fields[2:9] == [
        *("DefaultRegion", "G", "T", result.message_id, "A", "k1 k2"),
        trial.cluster.address("a"),
    ]
    assert (fields[9], *fields[11:]) == ("5", "0", result.offset_message_id, "true")
    assert trial.keys() == f"{result.message_id} k1 k2"


def test_traces_are_not_traced() -> None:
    trial = Trial()
    trial.cluster.run(trial.core.send(Message("T", b"x")))
    trial.cluster.driver.pass_time(60.0)
    assert len(trial.traces()) == 1


def test_closing_sends_collected_traces() -> None:
    trial = Trial()
    trial.cluster.run(trial.core.send_batch([Message("T", b"x")] * 1_500))
    trial.cluster.run(trial.core.close())
    (fields,) = trial.traces()
    assert fields[5].count(",") == 1_499


def test_the_end_of_a_transaction_is_traced() -> None:
    trial = Trial()
    transactions = Transactions(trial.core, lambda message: None)
    flow = transactions.send(Message("T", b"x"), lambda *_: TransactionState.COMMIT, None)
    sent = trial.cluster.run(flow).sent
    trial.cluster.driver.pass_time(5.0)
    half, end = trial.traces()
    assert (half[0], half[11]) == ("Pub", "1")
    assert end[0] == "EndTransaction"
    assert (end[5], end[10:]) == (
        sent.message_id,
        [sent.transaction_id, "COMMIT_MESSAGE", "false"],
    )


def test_consuming_is_traced_before_and_after() -> None:
    trial = Trial()
    trial.cluster.run(trial.core.send(Message("T", b"x", keys="k")))
    (record,) = trial.cluster.brokers["a"].records("T", 0)
    queue = MessageQueue("T", "a", 0)
    message = ReceivedMessage(record, queue)
    tracer = Tracer(trial.cluster.instance, "CG", "CONSUME")
    context = ConsumeContext("CG", queue, [message], 1_000, cost_ms=7, is_success=True)
    tracer.before_consume(context)
    tracer.after_consume(context)
    trial.cluster.run(tracer.close())
    before, after = trial.traces()
    request_id = before[4]
    assert before == [
        *("SubBefore", "1000", "DefaultRegion", "CG", request_id, message.id, "0", "k")
    ]
    assert after == ["SubAfter", request_id, message.id, "7", "true", "k", "0", "1007", "CG"]


def test_held_traces_are_bounded() -> None:
    trial = Trial()
    address = trial.cluster.address("a")
    trial.cluster.run(trial.core.send(Message("T", b"x")))
    trial.cluster.driver.pass_time(5.0)
    tracer = trial.core.tracer
    assert tracer is not None
    context = ConsumeContext("CG", MessageQueue("T", "a", 0), [], 0)
    trial.cluster.faults[address] = gone
    for _ in range(RECORDS_MAX):
        tracer.before_consume(context)
        tracer.after_consume(context)
    trial.cluster.driver.pass_time(20.0)
    assert f"traces dropped count={RECORDS_MAX}: the buffer is full" in trial.cluster.driver.lines
    assert any("traces not sent" in line for line in trial.cluster.driver.lines)


def test_traces_continue_after_a_request_hook_failed() -> None:
    trial = Trial()
    faults = trial.cluster.faults
    trial.cluster.run(trial.core.send(Message("T", b"lost")))
    faults[RequestCode.SEND_MESSAGE_V2] = lambda *_: ValueError("the hook's own")
    trial.cluster.pass_time(5.0)
    del faults[RequestCode.SEND_MESSAGE_V2]
    trial.cluster.run(trial.core.send(Message("T", b"traced")))
    trial.cluster.pass_time(5.0)
    assert len(trial.traces()) == 1


def test_a_recall_is_traced() -> None:
    trial = Trial()
    result = trial.cluster.run(trial.core.send(Message("T", b"x", delay_s=20.0)))
    trial.cluster.run(trial.core.recall(result))
    trial.cluster.pass_time(30.0)
    with pytest.raises(BrokerError):
        trial.cluster.run(trial.core.recall(result))
    trial.cluster.pass_time(5.0)
    _, first, second = trial.traces()
    assert (first[0], first[2:]) == (
        "Recall",
        ["DefaultRegion", "G", "T", result.message_id, "true"],
    )
    assert second[-1] == "false"
