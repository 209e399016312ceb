"""Tests round robin choice of queues, and brokers that are avoided."""

from __future__ import annotations

from gantrymq.client.core.instance.faults import Faults
from gantrymq.client.core.send.queue_choice import QueueChoice
from gantrymq.wire.bodies.shared import MessageQueue

QUEUES = [MessageQueue("T", name, n) for name in ("a", "b") for n in range(2)]


def test_round_robin_starts_at_a_random_queue() -> None:
    choice = QueueChoice(lambda limit: limit - 1, None)
    chosen = [choice.choose("T", QUEUES, None, 0.0) for _ in range(8)]
    assert chosen[0] == QUEUES[3]
    assert sorted(chosen) == sorted(QUEUES * 2)


def test_the_failed_broker_is_chosen_last() -> None:
    choice = QueueChoice(lambda limit: 0, None)
    assert {choice.choose("T", QUEUES, "a", 0.0).broker_name for _ in range(4)} == {"b"}
    assert choice.choose("T", QUEUES[:2], "a", 0.0) in QUEUES[:2]


def test_slow_brokers_are_avoided_unless_all_are_slow() -> None:
    faults = Faults()
    choice = QueueChoice(lambda limit: 0, faults)
    faults.took("a", 0.6, 0.0)
    assert {choice.choose("T", QUEUES, None, 1.9).broker_name for _ in range(4)} == {"b"}
    assert {choice.choose("T", QUEUES, None, 2.0).broker_name for _ in range(4)} == {"a", "b"}
    faults.failed("a", 10.0)
    faults.failed("b", 10.0)
    assert {choice.choose("T", QUEUES, None, 11.0).broker_name for _ in range(4)} == {"a", "b"}
