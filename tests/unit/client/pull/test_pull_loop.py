"""Tests that the pull loop moves a queue through its phases as the table says."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gantrymq.client.core.flow.flow_steps import FOREVER, Wait
from gantrymq.client.core.group import queue_phase
from gantrymq.client.core.group.process_queue import ProcessQueue
from gantrymq.client.core.group.queue_phase import QUEUE_PHASES, QueuePhase
from gantrymq.client.core.message.outcomes import Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.pull.pull_loop import PullLoop
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.brokers.consumers import FIRST, Consumer
from gantrymq.fakes.flows import Late
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

Row = tuple[QueuePhase, str, QueuePhase]

QUEUE = MessageQueue("T", "broker-a", 0)


class RecordedQueue:
    """A ProcessQueue that records which rows of the table the pull loop and the rebalance use."""

    def __init__(self, inner: ProcessQueue, rows: set[Row]) -> None:
        self.__dict__.update(inner=inner, rows=rows, phase_before=inner.phase)

    def note(self, event: str) -> None:
        before = self.look()
        self.inner.note(event)
        after = self.inner.phase
        if not self.inner.is_dropped:
            self.rows.add((before, event, after))
        self.__dict__["phase_before"] = after

    def look(self) -> QueuePhase:
        """The phase; a change that the loop did not make was a drop."""
        before: QueuePhase = self.phase_before
        now: QueuePhase = self.inner.phase
        if before is not now and now is QueuePhase.DROPPED:
            self.rows.add((before, queue_phase.DROP, now))
        self.__dict__["phase_before"] = now
        return now

    # Any: whatever attribute the loop asks for.
    def __getattr__(self, name: str) -> Any:
        self.look()
        return getattr(self.inner, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.inner, name, value)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> set[Row]:
    """The rows that are used, by all queues."""
    used: set[Row] = set()
    run = PullLoop.run

    async def recorded(loop: PullLoop, queue: ProcessQueue, offset: int) -> None:
        stand_in: Any = RecordedQueue(queue, used)  # Any: it has the attributes of a ProcessQueue
        try:
            await run(loop, stand_in, offset)
        finally:
            stand_in.look()

    monkeypatch.setattr(PullLoop, "run", recorded)
    return used


async def hang(messages: list[ReceivedMessage]) -> Outcome:
    del messages
    await Wait(FOREVER)
    return None


def busy(address: str, command: Command) -> Command:
    del address
    return Command(ResponseCode.FLOW_CONTROL, opaque=command.opaque, remark="busy")


def test_the_loop_uses_each_row_of_the_table(rows: set[Row]) -> None:
    waits_for_messages_then_fails_then_is_busy()
    is_suspended_then_closed()
    changes_its_filter_while_brokers_do_not_answer()
    loses_its_locks()
    fills_its_buffer()
    is_reset_while_it_pulls_and_between_pulls()
    expected = {(row.source, row.event, row.target) for row in QUEUE_PHASES.rows}
    release = (QueuePhase.DROPPED, queue_phase.RELEASE, QueuePhase.RELEASED)
    assert rows == expected - {release}


def waits_for_messages_then_fails_then_is_busy() -> None:
    cluster = Cluster()
    cluster.store("a")
    Consumer(cluster).start()
    cluster.pass_time(20.0)
    cluster.faults[RequestCode.PULL_MESSAGE] = gone
    cluster.pass_time(20.0)
    cluster.faults[RequestCode.PULL_MESSAGE] = busy
    cluster.pass_time(3.0)


def is_suspended_then_closed() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    consumer.member.suspend()
    cluster.pass_time(20.0)
    consumer.member.reset("T", {QUEUE: 0})
    cluster.pass_time(1.0)
    consumer.close()


def changes_its_filter_while_brokers_do_not_answer() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    cluster.pass_time(1.0)
    cluster.faults[RequestCode.HEART_BEAT] = lambda _, command: Late(
        Command(ResponseCode.SUCCESS, opaque=command.opaque), 2.5
    )
    consumer.member.subscribe("T", "paid", consumer.listen)
    cluster.store("a")
    cluster.pass_time(30.0)


def loses_its_locks() -> None:
    cluster = Cluster()
    Consumer(cluster, settings=dataclasses.replace(FIRST, orderly=True)).start()
    cluster.faults[RequestCode.LOCK_BATCH_MQ] = gone
    cluster.pass_time(60.0)


def fills_its_buffer() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c", "d")
    settings = dataclasses.replace(FIRST, pull_threshold=1, pull_batch=2)
    Consumer(cluster, settings=settings).start(listener=hang)
    cluster.pass_time(1.0)


def is_reset_while_it_pulls_and_between_pulls() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    cluster.pass_time(1.0)
    consumer.member.reset("T", {QUEUE: 0})
    cluster.pass_time(20.0)
    cluster = Cluster()
    settings = dataclasses.replace(FIRST, pull_interval_s=5.0)
    consumer = Consumer(cluster, settings=settings).start()
    for body in ("a", "b"):  # the first pause is skipped: the start changed the queue
        cluster.pass_time(1.0)
        cluster.store(body)
    cluster.pass_time(1.0)
    consumer.member.reset("T", {QUEUE: 0})
    cluster.pass_time(20.0)


def test_a_queue_is_released_after_its_offset_is_persisted() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    # The private table of queues: they have no public phase.
    (queue, *_) = [
        each for each in consumer.member._rebalance.queues.values() if each.queue.topic == "T"
    ]
    cluster.faults[RequestCode.UPDATE_CONSUMER_OFFSET] = gone
    consumer.close()
    assert queue.phase is QueuePhase.RELEASED
