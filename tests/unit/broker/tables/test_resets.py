"""Resets that consumers were not told yet."""

from __future__ import annotations

from gantrymq.broker.core.tables.resets import Resets


def test_a_reset_is_taken_once() -> None:
    resets = Resets()
    resets.assign("g", "T", 0, 5)
    assert resets.pending("g", "T", 0) == 5
    assert resets.pending("g", "T", 1) is None
    assert resets.take("g", "T", 0) == 5
    assert resets.take("g", "T", 0) is None
    assert resets.pending("g", "T", 0) is None


def test_the_last_one_counts() -> None:
    resets = Resets()
    resets.assign("g", "T", 0, 5)
    resets.assign("g", "T", 0, 3)
    assert resets.take("g", "T", 0) == 3


def test_they_go_with_their_group_or_topic() -> None:
    resets = Resets()
    for group, topic in (("g", "T"), ("g", "U"), ("h", "T")):
        resets.assign(group, topic, 0, 5)
    resets.remove(group="g", topic="U")
    assert resets.pending("g", "T", 0) == 5
    assert resets.pending("g", "U", 0) is None
    resets.remove(topic="T")
    assert resets.pending("g", "T", 0) is None
    assert resets.pending("h", "T", 0) is None
