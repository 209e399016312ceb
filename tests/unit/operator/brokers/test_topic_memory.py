"""Tests what is remembered between runs until the caches show it."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.fakes.topics.topic_world import topic
from gantrymq.operator.brokers.topic_memory import TopicMemory
from gantrymq.operator.topics.values import DrainQuestion, GroupStatus, Refusal, TopicStatus
from gantrymq.operator.topics.verdicts import ASK_AGAIN_S


def test_a_written_resource_counts_until_the_cache_shows_another_version() -> None:
    memory, before = TopicMemory(), topic("t")
    middle = replace(before, finalizers=("f",), resource_version="2")
    after = replace(middle, status=TopicStatus(phase="Ready"), resource_version="3")
    memory.wrote(before, middle)
    memory.wrote(middle, after)
    assert memory.resources([before]) == (after,)
    assert memory.resources([before]) == (after,)
    newer = replace(before, resource_version="4")
    assert memory.resources([newer]) == (newer,)
    assert memory.resources([before]) == (before,)


def test_a_topic_counts_as_made_until_its_status_says_so() -> None:
    memory, before = TopicMemory(), topic("t")
    memory.made_on(before, "broker-0")
    memory.resources([before])
    assert memory.made == {before.uid: {"broker-0"}}
    groups = (GroupStatus("broker-0", 4, 4, "RW"),)
    memory.resources([replace(before, status=TopicStatus(groups=groups))])
    assert memory.made == {}


def test_resources_that_are_gone_are_forgotten() -> None:
    memory, gone = TopicMemory(), topic("t")
    memory.made_on(gone, "broker-0")
    memory.wrote(gone, replace(gone, resource_version="2"))
    assert memory.resources([]) == ()
    assert memory.made == {}
    assert memory.resources([gone]) == (gone,)


def test_a_stale_resource_is_skipped_until_a_newer_one_is_seen() -> None:
    memory, before = TopicMemory(), topic("t")
    memory.found_stale(before)
    memory.resources([before])
    assert memory.is_stale(before)
    assert not memory.is_stale(replace(before, resource_version="2"))


def test_questions_are_not_asked_too_often_nor_too_many_at_once() -> None:
    memory = TopicMemory()
    first, second = (DrainQuestion("broker-0", "a", name, 0) for name in "ab")
    assert memory.due([first, second], 100.0, 1) == (first,)
    assert memory.due([first, second], 101.0, 1) == (second,)
    assert memory.due([first, second], 102.0, 1) == ()
    assert memory.due([first, second], 100.0 + ASK_AGAIN_S, 2) == (first,)


def test_refusals_are_forgotten_at_their_time() -> None:
    memory = TopicMemory()
    memory.refusals[("broker-0", "t")] = Refusal(None, "no", 100.0)
    memory.forget_expired_refusals(99.0)
    assert memory.refusals
    memory.forget_expired_refusals(100.0)
    assert not memory.refusals
