"""Transactions, against a broker's core."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.client.core.errors import SendError
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.producer.transactions import (
    TransactionResult,
    Transactions,
    TransactionState,
)
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.remoting.failures import ConnectError
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

COMMIT, ROLLBACK, UNKNOWN = (
    TransactionState.COMMIT,
    TransactionState.ROLLBACK,
    TransactionState.UNKNOWN,
)


@dataclass
class Work:
    """The local part of a test, and what was checked."""

    state: object = COMMIT
    checked: object = COMMIT
    done: list[tuple[str, object]] = field(default_factory=list)
    asked: list[ReceivedMessage] = field(default_factory=list)

    def do(self, message: Message, argument: object) -> object:
        self.done.append((message.id, argument))
        return _told(self.state)

    def check(self, message: ReceivedMessage) -> object:
        self.asked.append(message)
        return _told(self.checked)


def _told(state: object) -> object:
    if isinstance(state, Exception):
        raise state
    return state


class Trial:
    """One producer of transactions."""

    def __init__(self, work: Work) -> None:
        settings = BrokerSettings(transaction_check_interval=1_000, transaction_time_out=1_000)
        self.work = work
        self.cluster = Cluster("a", topics={"T": 1}, settings=settings)
        self.core = ProducerCore(self.cluster.instance, "G", ProducerSettings())
        self.transactions = Transactions(self.core, work.check)
        self.cluster.run(self.core.start())

    def send(self) -> TransactionResult:
        message = Message("T", b"pay", delay_level=3)
        return self.cluster.run(self.transactions.send(message, self.work.do, 7))

    def bodies(self) -> list[bytes]:
        self.cluster.pass_time(0.1)
        return list(self.cluster.brokers["a"].bodies("T"))

    def ends(self) -> list[dict[str, str]]:
        ends = self.cluster.asked_of(RequestCode.END_TRANSACTION)
        return [command.ext or {} for command in ends]


def test_consumers_see_what_was_committed() -> None:
    trial = Trial(Work(COMMIT))
    result = trial.send()
    assert result.state is COMMIT
    assert trial.work.done == [(result.sent.message_id, 7)]
    assert trial.bodies() == [b"pay"]
    (end,) = trial.ends()
    assert (end["commitOrRollback"], end["fromTransactionCheck"]) == ("8", "false")
    assert (end["producerGroup"], end["bname"], end["topic"]) == ("G", "a", "T")
    assert end["msgId"] == end["transactionId"] == result.sent.message_id


def test_consumers_never_see_rolled_back_messages() -> None:
    trial = Trial(Work(ROLLBACK))
    assert trial.send().state is ROLLBACK
    trial.cluster.pass_time(120.0)
    assert trial.bodies() == []
    assert trial.work.asked == []


@pytest.mark.parametrize("state", [UNKNOWN, None, "what", ValueError("broken")])
def test_an_unknown_state_is_checked_by_the_broker(state: object) -> None:
    trial = Trial(Work(state, checked=COMMIT))
    result = trial.send()
    assert result.state is UNKNOWN
    assert (result.error is None) == (not isinstance(state, Exception))
    assert trial.bodies() == []
    trial.cluster.pass_time(60.0)
    (asked,) = trial.work.asked
    assert (asked.topic, asked.body, asked.id) == ("T", b"pay", result.sent.message_id)
    assert trial.bodies() == [b"pay"]
    assert trial.ends()[-1]["fromTransactionCheck"] == "true"


def test_a_failed_check_is_repeated() -> None:
    trial = Trial(Work(UNKNOWN, checked=ValueError("not now")))
    trial.send()
    trial.cluster.pass_time(8.0)
    assert trial.work.asked
    assert trial.bodies() == []
    trial.work.checked = COMMIT
    trial.cluster.pass_time(8.0)
    assert trial.bodies() == [b"pay"]


def test_a_lost_end_is_checked_by_the_broker() -> None:
    trial = Trial(Work(COMMIT))
    address = trial.cluster.address("a")
    trial.cluster.faults[address] = lambda _, command: (
        ConnectError("gone") if command.code == RequestCode.END_TRANSACTION else command
    )
    assert trial.send().state is COMMIT
    assert "end of transaction not sent" in trial.cluster.driver.lines[-1]
    del trial.cluster.faults[address]
    trial.cluster.pass_time(60.0)
    assert trial.bodies() == [b"pay"]


def test_a_half_message_that_is_not_durable_is_rolled_back() -> None:
    trial = Trial(Work(COMMIT))

    def unsafe(address: str, command: Command) -> Command:
        if command.code != RequestCode.SEND_MESSAGE_V2:
            return command
        ext = {"msgId": "7F00000100002A9F0000000000000000", "queueId": "0", "queueOffset": "0"}
        return Command(10, ext=ext)

    trial.cluster.faults[trial.cluster.address("a")] = unsafe
    assert trial.send().state is ROLLBACK
    assert trial.work.done == []
    assert trial.ends()[-1]["commitOrRollback"] == "12"


def test_without_a_half_message_the_local_transaction_does_not_run() -> None:
    trial = Trial(Work(COMMIT))
    trial.cluster.faults[trial.cluster.address("a")] = gone
    with pytest.raises(SendError):
        trial.send()
    assert trial.work.done == []
    assert trial.ends() == []


def test_a_check_for_another_group_is_not_answered() -> None:
    trial = Trial(Work(UNKNOWN))
    trial.send()
    trial.cluster.instance.producers["other"] = trial.cluster.instance.producers.pop("G")
    trial.cluster.pass_time(60.0)
    assert trial.work.asked == []
    assert any(
        "transaction check for an unknown producer" in line for line in trial.cluster.driver.lines
    )
