"""Pull consumers commit offsets of consumed messages, seek to other offsets, and pause queues."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.client.core.errors import StateError
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.pull_consumers import FIRST, QUEUES, Reader, stored


def test_messages_without_a_match_count_as_progress() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    reader.lite.subscribe("T", "x")
    cluster.store("no", "no", TAGS="y")
    cluster.pass_time(12.0)
    assert reader.poll() == []
    cluster.pass_time(12.0)
    assert stored(cluster) == 2


def test_messages_of_the_last_poll_are_not_progress_yet() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", replace(FIRST, pull_batch=2), QUEUES[0])
    assert reader.poll() == ["a", "b"]
    cluster.pass_time(20.0)
    assert stored(cluster) == 0
    assert reader.poll() == ["c"]
    cluster.pass_time(20.0)
    assert stored(cluster) == 2


@pytest.mark.parametrize(("commit", "expected"), [(True, 2), (False, 0)])
def test_closing_commits_the_last_poll_if_requested(commit: bool, expected: int) -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    assert reader.poll() == ["a", "b"]
    reader.client.run(reader.lite.close(commit=commit))
    assert stored(cluster) == expected


def test_iteration_commits_all_but_the_last_message() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    for expected in ("a", "b"):
        message = reader.client.run(reader.lite.next_message())
        assert message is not None
        assert message.body.decode() == expected
    reader.client.run(reader.lite.close(commit=False))
    assert stored(cluster) == 1


def test_an_application_can_commit_explicitly() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    settings = replace(FIRST, auto_commit=False)
    reader = Reader(cluster, "me@1", settings, QUEUES[0])
    assert reader.poll() == ["a", "b", "c"]
    assert reader.poll() == []
    cluster.pass_time(60.0)
    assert stored(cluster) in (None, 0)
    reader.client.run(reader.lite.commit({QUEUES[0]: 1}))
    assert stored(cluster) == 1
    assert reader.client.run(reader.lite.committed(QUEUES[0])) == 1
    reader.client.run(reader.lite.commit())
    assert stored(cluster) == 1
    reader.client.run(reader.lite.close())
    again = Reader(cluster, "me@2", settings, QUEUES[0])
    assert again.poll() == ["b", "c"]
    again.client.run(again.lite.commit())
    assert stored(cluster) == 3


def test_seek_continues_at_the_offset_and_refuses_one_outside_the_queue() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c", "d")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    run, lite = reader.client.run, reader.lite
    assert reader.poll() == ["a", "b", "c", "d"]
    run(lite.positions.seek(QUEUES[0], 2))
    assert reader.poll() == ["c", "d"]
    run(lite.positions.seek_to_begin(QUEUES[0]))
    assert reader.poll() == ["a", "b", "c", "d"]
    run(lite.positions.seek_to_begin(QUEUES[0]))
    cluster.pass_time(1.0)
    run(lite.positions.seek_to_end(QUEUES[0]))
    assert reader.poll() == []
    cluster.store("e")
    assert reader.poll() == ["e"]
    with pytest.raises(StateError, match="seek offset = 9, min offset = 0, max offset = 5"):
        run(lite.positions.seek(QUEUES[0], 9))
    with pytest.raises(StateError, match="not in assigned list"):
        run(lite.positions.seek(QUEUES[1], 0))


def test_a_seek_counts_as_progress() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c", "d")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    assert reader.poll() == ["a", "b", "c", "d"]
    reader.client.run(reader.lite.positions.seek(QUEUES[0], 1))
    reader.client.run(reader.lite.close())
    assert stored(cluster) == 1


def test_offset_is_found_for_a_timestamp() -> None:
    cluster = Cluster()
    cluster.store("a")
    cluster.pass_time(10.0)
    moment = cluster.driver.clock.wall_ms()
    cluster.store("b")
    reader = Reader(cluster)
    assert reader.client.run(reader.lite.positions.offset_for_timestamp(QUEUES[0], moment)) == 1


def test_a_paused_queue_returns_no_messages() -> None:
    cluster = Cluster()
    cluster.store("a", queue_id=0)
    cluster.store("b", queue_id=1)
    reader = Reader(cluster, "me@1", FIRST, *QUEUES[:2])
    cluster.pass_time(1.0)
    reader.lite.positions.pause([QUEUES[0]])
    cluster.store("c", queue_id=0)
    assert reader.poll_all() == ["b"]
    reader.lite.positions.resume([QUEUES[0]])
    assert reader.poll_all() == ["a", "c"]
