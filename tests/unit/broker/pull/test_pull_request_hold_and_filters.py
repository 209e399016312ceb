"""A group's filter that changes while its pulls wait.

A consumer compares the tags of what it gets with those that it had when it pulled, and drops the
rest. So nothing is answered by a filter that came later, nor passed by.
"""

from __future__ import annotations

import pytest

from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.pull import pull_request_hold
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.heartbeats import beat
from gantrymq.fakes.brokers.pulls import SUBSCRIBES, SUSPENDS, PulledBroker, bodies, place
from gantrymq.wire.bodies.heartbeat import (
    EXPRESSION_SQL92,
    EXPRESSION_TAG,
    ConsumerData,
    SubscriptionData,
)
from gantrymq.wire.command import Command
from gantrymq.wire.message import tags

KINDS = (EXPRESSION_TAG, EXPRESSION_SQL92)


@pytest.fixture
def pulls() -> PulledBroker:
    return PulledBroker(OpenedBroker(BrokerSettings(enable_property_filter=True)))


def subscribe(
    pulls: PulledBroker,
    wanted: str,
    kind: str = EXPRESSION_TAG,
    *,
    version: int,
    channel: FakeChannel | None = None,
) -> None:
    """A heartbeat of group G, as Java's clients send it: for T, messages with these tags."""
    said = SubscriptionData(topic="T", sub_version=version)
    if kind == EXPRESSION_SQL92:
        text = f"TAGS in ('{wanted}')"
        said = SubscriptionData(
            topic="T", sub_version=version, sub_string=text, expression_type=kind
        )
    elif wanted != tags.ALL:
        parsed = tags.parse(wanted)
        said = SubscriptionData(
            topic="T",
            sub_version=version,
            sub_string=wanted,
            tags=parsed.tags,
            codes=tuple(parsed.codes),
        )
    consumer = ConsumerData(group_name="G", subscriptions=(said,))
    beat(pulls.broker, channel or pulls.broker.channel, consumer)


def held(pulls: PulledBroker, version: int, offset: int = 0) -> Request:
    """A pull that leaves the filter to the group's heartbeats, and waits."""
    request = pulls.send(offset, sys_flag=SUSPENDS, sub_version=version)
    assert pulls.broker.is_held(request)
    return request


def is_asked_anew_from(answer: Command, offset: int) -> bool:
    """Whether the consumer is told nothing but to pull from there."""
    return (answer.code, answer.body, place(answer)[0]) == (20, b"", offset)


@pytest.mark.parametrize("then", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_message_that_only_the_new_filter_matches_comes_with_the_next_pull(
    pulls: PulledBroker, first: str, then: str
) -> None:
    subscribe(pulls, "A", first, version=1)
    request = held(pulls, 1)
    subscribe(pulls, "B", then, version=2)
    pulls.store("b", TAGS="B")
    assert is_asked_anew_from(pulls.answer(request), 0)
    assert bodies(pulls.ask(sys_flag=SUSPENDS, sub_version=2)) == ["b"]


@pytest.mark.parametrize("kind", KINDS)
def test_message_that_only_the_old_filter_matches_is_not_skipped(
    pulls: PulledBroker, kind: str
) -> None:
    subscribe(pulls, "A", kind, version=1)
    request = held(pulls, 1)
    subscribe(pulls, "B", kind, version=2, channel=FakeChannel())
    pulls.store("a", TAGS="A")
    answer = pulls.answer(request)
    assert is_asked_anew_from(answer, 0)
    assert place(answer) == (0, 0, 1)


def test_a_filter_by_tags_that_all_wanted_before_is_a_change_too(pulls: PulledBroker) -> None:
    subscribe(pulls, tags.ALL, version=1)
    request = held(pulls, 1)
    subscribe(pulls, "B", version=2)
    pulls.store("b", TAGS="B")
    assert is_asked_anew_from(pulls.answer(request), 0)


def test_message_that_the_old_filter_rejected_is_found_by_the_new_one(pulls: PulledBroker) -> None:
    subscribe(pulls, "A", version=1)
    request = held(pulls, 1)
    pulls.store("early", TAGS="B")
    assert pulls.broker.is_held(request)
    subscribe(pulls, "B", version=2)
    pulls.broker.pass_time(pull_request_hold.MOVED_SECONDS + pull_request_hold.SCAN_SECONDS)
    assert is_asked_anew_from(pulls.answer(request), 0)
    assert bodies(pulls.ask(sys_flag=SUSPENDS, sub_version=2)) == ["early"]


@pytest.mark.parametrize("kind", KINDS)
def test_consumer_that_joins_with_the_same_filter_changes_nothing(
    pulls: PulledBroker, kind: str
) -> None:
    subscribe(pulls, "A", kind, version=1)
    request = held(pulls, 1)
    subscribe(pulls, "A", kind, version=2, channel=FakeChannel())
    pulls.store("b", TAGS="B")
    assert pulls.broker.is_held(request)
    pulls.store("a", TAGS="A")
    assert bodies(pulls.answer(request)) == ["a"]


def test_the_order_of_tags_changes_nothing(pulls: PulledBroker) -> None:
    subscribe(pulls, "A || B", version=1)
    request = held(pulls, 1)
    subscribe(pulls, "B||A", version=2)
    pulls.store("b", TAGS="B")
    assert bodies(pulls.answer(request)) == ["b"]


def test_a_pull_that_brings_its_filter_stays_by_it(pulls: PulledBroker) -> None:
    subscribe(pulls, "A", version=1)
    request = pulls.send(sys_flag=SUBSCRIBES | SUSPENDS, subscription="A", sub_version=1)
    subscribe(pulls, "B", version=2)
    pulls.store("b", TAGS="B")
    assert pulls.broker.is_held(request)
    pulls.store("a", TAGS="A")
    assert bodies(pulls.answer(request)) == ["a"]


def test_a_pull_by_an_older_filter_than_its_group_has_is_held_by_the_groups(
    pulls: PulledBroker,
) -> None:
    subscribe(pulls, "B", version=2)
    request = held(pulls, 1)
    pulls.store("a", TAGS="A")
    assert pulls.broker.is_held(request)
    pulls.store("b", TAGS="B")
    assert bodies(pulls.answer(request)) == ["b"]
