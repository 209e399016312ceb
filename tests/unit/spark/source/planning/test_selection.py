"""Which topics and queues are read."""

from __future__ import annotations

import re

import pytest

from gantrymq.spark.options import RocketMQOptionError
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.read_options import Selection
from gantrymq.spark.source.planning.selection import (
    matching_topics,
    must_exist,
    named_topics,
    wanted_queues,
)

A, B = QueueKey("t", "b", 0), QueueKey("t", "b", 1)


def test_a_pattern_matches_whole_names_of_users_topics() -> None:
    names = ["orders", "orders-eu", "new-orders", "%RETRY%orders", "TBW102", "rmq_sys_orders"]
    chosen = matching_topics(Selection(pattern=re.compile("orders.*")), names)
    assert chosen == ("orders", "orders-eu")
    everything = matching_topics(Selection(pattern=re.compile(".*")), names)
    assert everything == ("new-orders", "orders", "orders-eu")


def test_topics_are_named_directly_or_by_their_queues() -> None:
    assert named_topics(Selection(("a", "b"))) == ("a", "b")
    assert named_topics(Selection(queues=frozenset({A, B}))) == ("t",)
    assert named_topics(Selection(pattern=re.compile("x"))) == ()


def test_an_assignment_selects_only_its_queues() -> None:
    assert wanted_queues(Selection(queues=frozenset({A})), [A, B]) == {A}
    assert wanted_queues(Selection(("t",)), [A, B]) == {A, B}


def test_topics_and_queues_given_by_name_must_exist() -> None:
    must_exist(Selection(("t",)), ["t"], [A])
    with pytest.raises(RocketMQOptionError, match="no name server knows u; check the name"):
        must_exist(Selection(("t", "u")), ["t"], [A])
    with pytest.raises(RocketMQOptionError, match="not there: t b 1"):
        must_exist(Selection(queues=frozenset({A, B})), ["t"], [A])
