"""Tests the figures of a log by topic and queue against listings of Java's stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gantrymq.store.offline.census import Census, Figures
from gantrymq.store.offline.file_row import read_row
from gantrymq.store.offline.finding import Findings
from gantrymq.testing.memory_disk import MemoryDisk

JavaStore = Callable[[str], MemoryDisk]
Contents = Callable[[str], dict[str, Any]]


def test_figures_equal_those_of_the_listing(java_store: JavaStore, java_contents: Contents) -> None:
    disk = java_store("4.9.8-clean")
    census = Census(disk, read_row(disk, "commitlog", 65_536, Findings()))
    assert list(census.run())
    listed = java_contents("4.9.8-clean")["commitlog"]
    assert census.total.messages == len(listed)
    by_topic: dict[str, int] = {}
    for each in listed:
        by_topic[each["topic"]] = by_topic.get(each["topic"], 0) + 1
    assert {topic: each.messages for topic, each in census.topics().items()} == by_topic
    assert sum(each.bytes for each in census.queues.values()) == census.total.bytes
    assert max(each.largest for each in census.topics().values()) == census.total.largest


def test_empty_census_has_no_mean_and_no_rate() -> None:
    assert Figures().mean_bytes == 0
    assert Figures().per_second == 0


def test_rate_covers_the_time_from_first_to_last_message() -> None:
    figures = Figures()
    figures.messages, figures.first_ms, figures.last_ms = 10, 1000, 3000
    assert figures.per_second == 5
