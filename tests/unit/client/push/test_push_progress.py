"""Push consumers commit their progress, and a restart continues from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from gantrymq.client.core.flow.flow_steps import FOREVER, Wait
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.push.consume_settings import ConsumeSettings
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import FIRST, Consumer, answer_once, stored_offset
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command


def test_progress_is_stored_every_five_seconds_and_at_the_end() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    consumer = Consumer(cluster).start()
    cluster.pass_time(5.0)
    assert stored_offset(cluster) == 2
    cluster.store("c")
    cluster.pass_time(0.1)
    consumer.close()
    assert stored_offset(cluster) == 3
    again = Consumer(cluster, "other@1").start()
    cluster.store("d")
    cluster.pass_time(0.1)
    assert again.bodies == ["d"]


def unknown_until_stored(cluster: Cluster) -> Callable[[str, Command], Command]:
    """Make the broker answer QUERY_NOT_FOUND, as for an old topic, until progress is stored."""

    def answer(_address: str, command: Command) -> Command:
        ext = command.ext or {}
        key = ext["consumerGroup"], ext["topic"], int(ext["queueId"])
        is_known = cluster.broker.state.offsets.find(*key) is not None
        return command if is_known else Command(ResponseCode.QUERY_NOT_FOUND)

    return answer


@pytest.mark.parametrize("broadcasting", [False, True])
@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("old", [[], ["old"]])
def test_the_start_offset_is_progress_before_the_first_message(
    old: list[str], *, orderly: bool, broadcasting: bool
) -> None:
    cluster = Cluster(topics={"T": 1})
    cluster.store(*old)
    cluster.faults[RequestCode.QUERY_CONSUMER_OFFSET] = unknown_until_stored(cluster)
    settings = ConsumeSettings(orderly=orderly, broadcasting=broadcasting)
    first = Consumer(cluster, settings=settings).start()
    cluster.pass_time(10.0)
    first.close()
    cluster.store("meanwhile")
    again = Consumer(cluster, settings=settings).start()
    cluster.pass_time(40.0)
    assert first.bodies == []
    assert again.bodies == ["meanwhile"]


def test_a_guessed_start_offset_is_not_progress() -> None:
    cluster = Cluster(topics={"T": 1})
    cluster.faults[RequestCode.QUERY_CONSUMER_OFFSET] = unknown_until_stored(cluster)
    consumer = Consumer(cluster).start()
    cluster.pass_time(10.0)
    assert [each.commit_offset for each in consumer.member.status()] == [None, None]
    assert not cluster.asked_of(RequestCode.UPDATE_CONSUMER_OFFSET)
    cluster.store("a")
    cluster.pass_time(10.0)
    assert stored_offset(cluster) == 1


def test_an_offset_beyond_the_end_is_corrected_by_the_broker() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    answer_once(cluster, RequestCode.QUERY_CONSUMER_OFFSET, Command(0, ext={"offset": "77"}))
    consumer = Consumer(cluster).start()
    cluster.pass_time(2.0)
    cluster.store("c")
    cluster.pass_time(0.1)
    assert consumer.bodies == ["c"]
    assert any("offset illegal" in line for line in cluster.driver.lines)


def test_a_full_consumer_does_not_pull() -> None:
    cluster = Cluster()
    cluster.store(*(f"{number}" for number in range(200)))

    async def hang(messages: list[ReceivedMessage]) -> None:
        del messages
        await Wait(FOREVER)

    settings = dataclasses.replace(FIRST, pull_threshold=50, close_timeout_s=1.0)
    consumer = Consumer(cluster, settings=settings).start(listener=hang)
    cluster.pass_time(10.0)
    (status,) = [each for each in consumer.member.status() if each.cached]
    assert (status.cached, status.commit_offset) == (64, 0)
    consumer.close()
    assert stored_offset(cluster) == 0
