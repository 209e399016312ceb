"""Runs transactions on a broker of the tests, step by step.

transactions = Transactions(OpenedBroker())
half = transactions.prepare(b"pay")
transactions.end(half, COMMIT)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.names.system_topics import HALF_TOPIC, OP_TOPIC
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.broker.core.transaction.transactions import GIVEN_UP_TOPIC, numbers_of, rewrite
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.store.record.put_status import PutStatus
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.transaction import (
    CheckTransactionStateRequest,
    EndTransactionRequest,
)
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.property_names import PRODUCER_GROUP, TRANSACTION_PREPARED, UNIQ_KEY
from gantrymq.wire.message.record import Record, decode

COMMIT = sys_flag.TRANSACTION_COMMIT
ROLLBACK = sys_flag.TRANSACTION_ROLLBACK
UNKNOWN = 0
GROUP = "payers"
TOPIC = "Payments"
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
ALWAYS = 1e9
CHECK_ROUND_SECONDS = 30.0
T = TypeVar("T")


@dataclass(frozen=True)
class Half:
    """The position of a half message, as its producer knows it."""

    number: int
    position: int


def prepared(broker: OpenedBroker, body: bytes, group: str = GROUP, **more: str) -> Record:
    """A transactional message as a producer sends it."""
    held = {UNIQ_KEY: f"U{body[:40].decode()}", TRANSACTION_PREPARED: "true", **more}
    if group:
        held[PRODUCER_GROUP] = group
    return Record(
        TOPIC.encode(),
        body,
        properties=properties.encode(held),
        queue_id=2,
        flag=7,
        sys_flag=sys_flag.TRANSACTION_PREPARED,
        born_timestamp_ms=broker.wall_ms,
        born_host=HOST,
        store_host=HOST,
    )


class Transactions:
    """The requests of producers, and what they receive."""

    def __init__(self, broker: OpenedBroker) -> None:
        self.broker = broker

    @property
    def disk(self) -> MemoryDisk:
        assert isinstance(self.broker.opened.disk, MemoryDisk)
        return self.broker.opened.disk

    def run(self, work: Task[T]) -> T:
        results: list[object] = []

        def failed(error: Exception) -> None:
            raise error

        self.broker.state.task_runner.start(work, results.append, failed)
        self.broker.settle()
        (result,) = results
        return result  # type: ignore[return-value]  # what the steps returned

    def store(self, record: Record) -> Half:
        answer = self.run(tasks.put(record))
        assert answer.status is PutStatus.PUT_OK
        return Half(answer.queue_offset, answer.positions[0])

    def prepare(self, body: bytes, group: str = GROUP, **more: str) -> Half:
        half = rewrite(self.broker.state, prepared(self.broker, body, group, **more))
        assert isinstance(half, Record)
        return self.store(half)

    def connect(self, group: str = GROUP) -> FakeChannel:
        """Connect a producer whose heartbeats always come in time."""
        channel = FakeChannel()
        client = Client(channel, f"client-{channel.peer}", 0, 0, ALWAYS, self.broker.wall_ms)
        self.broker.state.clients.add_producer(group, client)
        return channel

    def start(
        self,
        half: Half,
        decision: int,
        *,
        from_check: bool = False,
        group: str = GROUP,
        is_oneway: bool = False,
    ) -> Request:
        """Send the producer's decision, without waiting."""
        header = EndTransactionRequest(
            producer_group=group,
            tran_state_table_offset=half.number,
            commit_log_offset=half.position,
            commit_or_rollback=decision,
            from_transaction_check=from_check,
            msg_id="",
        )
        return self.broker.send(RequestCode.END_TRANSACTION, header, is_oneway=is_oneway)

    def end(
        self, half: Half, decision: int, *, from_check: bool = False, group: str = GROUP
    ) -> Command | None:
        """The response to the decision; None if there is none."""
        return self.broker.answer(self.start(half, decision, from_check=from_check, group=group))

    def code(self, half: Half, decision: int, *, from_check: bool = False) -> int:
        answer = self.end(half, decision, from_check=from_check)
        assert answer is not None
        return answer.code

    def delivered(self) -> Sequence[bytes]:
        """The bodies that consumers find."""
        return self.broker.bodies(TOPIC, 2)

    def given_up(self) -> Sequence[bytes]:
        return self.broker.bodies(GIVEN_UP_TOPIC)

    def halves(self) -> Sequence[Record]:
        return self.broker.opened.records(HALF_TOPIC, 0)

    def ops(self) -> list[int]:
        """The offsets of the half messages that op messages mark as done."""
        records = self.broker.opened.records(OP_TOPIC, 0)
        return [number for record in records for number in numbers_of(record)]

    def restarted(self, *, keeps_files: bool = True) -> Transactions:
        """Another broker on the same disk, as after kill -9."""
        old = self.broker
        self.disk.end_process()
        files = old.saved if keeps_files else {}
        new = OpenedBroker(old.state.settings, disk=self.disk, files=files)
        new.now = old.now
        new.settle()
        return Transactions(new)


def asked(channel: FakeChannel) -> list[Half]:
    """The half messages that the broker has checked with this producer."""
    found = []
    for command in channel.told:
        if command.code == RequestCode.CHECK_TRANSACTION_STATE:
            header = CheckTransactionStateRequest.decode(command.ext)
            shown = decode(command.body)
            assert (shown.queue_offset, shown.physical_offset) == (
                header.tran_state_table_offset,
                header.commit_log_offset,
            )
            found.append(Half(header.tran_state_table_offset, header.commit_log_offset))
    return found


def opened_transactions(settings: BrokerSettings | None = None) -> Transactions:
    """Transactions on a new broker whose checks have begun."""
    transactions = Transactions(OpenedBroker(settings))
    transactions.broker.settle()
    return transactions
