"""Pull consumers return the messages of their queues, and stay within the buffer's bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.client.core.errors import StateError
from gantrymq.client.core.pull.lite_queue import Buffering
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.pull_consumers import FIRST, QUEUES, Reader, bodies
from gantrymq.wire.codes import RequestCode


def test_assigned_queues_are_read_from_their_beginning() -> None:
    cluster = Cluster()
    cluster.store("a", "b", queue_id=0)
    cluster.store("c", queue_id=1)
    cluster.store("not mine", queue_id=2)
    reader = Reader(cluster, "me@1", FIRST, *QUEUES[:2])
    assert sorted(reader.poll_all()) == ["a", "b", "c"]
    assert reader.lite.assignment == QUEUES[:2]


def test_a_message_that_comes_later_ends_a_poll() -> None:
    cluster = Cluster()
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    clock = cluster.driver.clock
    cluster.driver.at(clock.monotonic() + 3.0, lambda: cluster.store("late"))
    assert reader.poll(timeout_s=60.0) == ["late"]
    assert clock.monotonic() < 4.0
    assert reader.poll(timeout_s=2.0) == []


def test_a_dead_broker_does_not_block_the_others() -> None:
    cluster = Cluster("broker-a", "broker-b")
    reader = Reader(cluster)
    reader.lite.subscribe("T")
    cluster.pass_time(3.0)
    cluster.stop("broker-a")
    cluster.store("b", broker_name="broker-b")
    assert reader.poll(timeout_s=5.0) == ["b"]
    cluster.restart("broker-a")
    cluster.store("a", broker_name="broker-a")
    assert reader.poll(timeout_s=5.0) == ["a"]


def test_consumption_continues_after_a_request_hook_failed() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    cluster.faults[RequestCode.LITE_PULL_MESSAGE] = lambda *_: ValueError("the hook's own")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    del cluster.faults[RequestCode.LITE_PULL_MESSAGE]
    assert reader.poll() == ["a", "b"]
    assert any("the hook's own" in line for line in cluster.driver.lines)


def test_pulls_wait_for_room() -> None:
    cluster = Cluster()
    cluster.store(*(f"m{n}" for n in range(60)))
    settings = replace(FIRST, buffering=Buffering(queue_messages_max=20))
    reader = Reader(cluster, "me@1", settings, QUEUES[0])
    cluster.pass_time(100.0)
    assert len(cluster.asked_of(RequestCode.LITE_PULL_MESSAGE)) == 2
    assert reader.poll_all() == [f"m{n}" for n in range(60)]


def test_room_is_shared_by_all_queues() -> None:
    cluster = Cluster()
    for n in range(4):
        cluster.store(*(f"m{n}" for _ in range(30)), queue_id=n)
    settings = replace(FIRST, buffering=Buffering(messages_max=10))
    reader = Reader(cluster, "me@1", settings, *QUEUES)
    cluster.pass_time(1.0)
    assert len(cluster.asked_of(RequestCode.LITE_PULL_MESSAGE)) <= 4
    assert len(reader.poll_all()) == 120


def test_queues_take_turns() -> None:
    cluster = Cluster()
    for n in range(2):
        cluster.store(*(f"{n}" for _ in range(4)), queue_id=n)
    reader = Reader(cluster, "me@1", replace(FIRST, pull_batch=2), *QUEUES[:2])
    cluster.pass_time(1.0)
    one_by_one = [bodies(reader.lite.take(1))[0] for _ in range(8)]
    assert one_by_one == ["0", "0", "1", "1", "0", "0", "1", "1"]


def test_a_waiting_call_is_woken_by_the_close() -> None:
    cluster = Cluster()
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    ends: list[object] = []

    async def wait() -> None:
        ends.append(await reader.lite.next_message())

    cluster.driver.start(wait(), "waits", reader.client.id)
    cluster.pass_time(5.0)
    assert ends == []
    reader.client.run(reader.lite.close())
    cluster.driver.settle()
    assert ends == [None]
    with pytest.raises(StateError, match="SHUTDOWN_ALREADY"):
        reader.poll()


def test_buffered_messages_are_returned_without_waiting() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    cluster.pass_time(0.1)
    assert [bodies(reader.lite.at_hand(limit)) for limit in (1, 0, 0)] == [["a"], ["b", "c"], []]


def test_only_one_task_can_poll() -> None:
    """A second poll would mark the messages of the first as consumed."""
    cluster = Cluster()
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    refusals: list[str] = []

    async def poll_too() -> None:
        try:
            await reader.lite.poll(1.0)
        except StateError as error:
            refusals.append(str(error))
        with pytest.raises(StateError, match="another task waits"):
            reader.lite.at_hand()

    def begin() -> None:
        cluster.driver.start(poll_too(), "other")

    clock = cluster.driver.clock
    cluster.driver.at(clock.monotonic() + 1.0, begin)
    cluster.driver.at(clock.monotonic() + 2.0, lambda: cluster.store("late"))
    assert reader.poll(timeout_s=60.0) == ["late"]
    assert refusals[0].startswith("another task waits for messages of this consumer already")
    assert reader.poll(timeout_s=1.0) == []
