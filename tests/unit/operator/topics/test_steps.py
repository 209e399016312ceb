"""Requests to masters made of steps."""

from __future__ import annotations

from gantrymq.fakes.topics.topic_world import topic
from gantrymq.operator.topics.steps import (
    BATCH_TOPICS,
    Change,
    TopicStep,
    attribute_changes,
    batches,
)
from gantrymq.operator.topics.values import BrokerTopic


def test_changes_are_put_together_by_master_in_bounded_requests() -> None:
    topics = BATCH_TOPICS + 1
    steps = [
        TopicStep(
            topic(f"t{number}"),
            "new",
            changes=tuple(
                Change(group, f"{group}:1", f"t{number}", BrokerTopic(4, 4), None)
                for group in ("broker-0", "broker-1")
            ),
        )
        for number in range(topics)
    ]
    requests = batches(steps)
    assert set(requests) == {"broker-0:1", "broker-1:1"}
    for parts in requests.values():
        assert [len(part) for part in parts] == [BATCH_TOPICS, 1]


def test_only_attributes_that_differ_are_sent() -> None:
    before = BrokerTopic(4, 4, attributes=(("message.type", "FIFO"), ("reserve.time", "1")))
    after = BrokerTopic(4, 4, attributes=(("message.type", "DELAY"), ("reserve.time", "1")))
    change = Change("broker-0", "a", "t", after, before)
    assert attribute_changes(change) == {"+message.type": "DELAY"}
