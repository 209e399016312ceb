"""Outcomes of concurrent listeners: retries, dead letters, timeouts, first parts of batches."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.client.core.flow.flow_steps import FOREVER, Signal, Wait
from gantrymq.client.core.message.outcomes import LATER, SUCCESS, SUSPEND, Later, Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.brokers.consumers import FIRST, Consumer
from gantrymq.remoting.failures import RequestTimeoutError
from gantrymq.wire.codes import RequestCode

RETRY, DEAD = "%RETRY%G", "%DLQ%G"
TWICE = dataclasses.replace(FIRST, max_reconsume_times=2)


def delay_levels(cluster: Cluster) -> list[str]:
    return [
        (command.ext or {})["delayLevel"]
        for command in cluster.asked_of(RequestCode.CONSUMER_SEND_MSG_BACK)
    ]


def test_failing_messages_are_retried_until_they_are_dead_letters() -> None:
    cluster = Cluster()
    cluster.store("a")
    seen: list[tuple[str, int]] = []

    def fail(messages: list[ReceivedMessage]) -> Outcome:
        seen.extend((message.topic, message.reconsume_times) for message in messages)
        return LATER

    consumer = Consumer(cluster, settings=TWICE).start(listener=fail)
    cluster.pass_time(9.0)
    assert seen == [("T", 0)]
    cluster.pass_time(120.0)
    assert seen == [("T", 0), ("T", 1), ("T", 2)]
    assert cluster.broker.bodies(DEAD) == [b"a"]
    assert consumer.member.stats.given_back == 3


def raise_it(messages: list[ReceivedMessage]) -> Outcome:
    raise ValueError(messages[0].body)


async def raise_later(messages: list[ReceivedMessage]) -> Outcome:
    raise ValueError(messages[0].body)


def nonsense(messages: list[ReceivedMessage]) -> Outcome:
    return len(messages)  # type: ignore[return-value]  # as careless users do


def suspend(messages: list[ReceivedMessage]) -> Outcome:
    del messages
    return SUSPEND


@pytest.mark.parametrize("listener", [raise_it, raise_later, nonsense, suspend])
def test_an_exception_counts_as_later(listener: object) -> None:
    cluster = Cluster()
    cluster.store("a")
    consumer = Consumer(cluster).start(listener=listener)  # type: ignore[arg-type]  # one of these
    assert delay_levels(cluster) == ["0"]
    assert consumer.member.stats.failures == {"T": 1}
    assert any("consumeMessage exception" in line for line in cluster.driver.lines)
    cluster.pass_time(20.0)
    assert consumer.member.stats.failures == {"T": 2}


@pytest.mark.parametrize(("outcome", "level"), [(Later(5), "5"), (Later(-1), "-1")])
def test_a_listener_chooses_the_delay(outcome: Later, level: str) -> None:
    cluster = Cluster()
    cluster.store("a")
    Consumer(cluster, outcome=lambda _: outcome).start()
    assert delay_levels(cluster) == [level]
    if level == "-1":
        assert cluster.broker.bodies(DEAD) == [b"a"]


@pytest.mark.parametrize(
    ("level", "done"), [(1 << 31, 0), (1 << 40, 0), (-2, 0), (0, -1), ("3", 0), (0, 1.0)]
)
def test_an_invalid_later_is_refused(level: int, done: int) -> None:
    with pytest.raises((ValueError, TypeError), match="a delay level"):
        Later(level, done)


def test_a_batch_can_be_consumed_in_part() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c", "d", "e")
    settings = dataclasses.replace(FIRST, consume_batch=4)
    consumer = Consumer(cluster, settings=settings, outcome=lambda _: Later(done=2)).start()
    assert consumer.calls == [["a", "b", "c", "d"], ["e"]]
    assert len(delay_levels(cluster)) == 2
    consumer.outcome = lambda _: SUCCESS
    cluster.pass_time(30.0)
    assert sorted(consumer.bodies[5:]) == ["c", "d"]


def test_a_refused_send_back_is_sent_as_a_message() -> None:
    cluster = Cluster()
    cluster.store("a", KEYS="k")
    refuse(cluster, RequestCode.CONSUMER_SEND_MSG_BACK)
    consumer = Consumer(cluster, outcome=lambda _: LATER).start()
    assert cluster.asked_of(RequestCode.SEND_MESSAGE_V2)
    consumer.outcome = None
    kept: list[ReceivedMessage] = []
    consumer.outcome = kept.extend
    cluster.pass_time(30.0)
    (message,) = kept
    assert (message.topic, message.keys, message.reconsume_times) == ("T", ["k"], 1)


def refuse(cluster: Cluster, *codes: RequestCode) -> None:
    for code in codes:
        cluster.faults[code] = lambda *_: RequestTimeoutError("too late")


def test_a_message_that_no_broker_takes_back_is_consumed_again() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    refuse(cluster, RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE_V2)
    consumer = Consumer(cluster, outcome=lambda _: LATER).start()
    cluster.pass_time(4.0)
    assert consumer.bodies == ["a", "b"]
    consumer.outcome = None
    cluster.pass_time(2.0)
    assert consumer.bodies == ["a", "b", "a", "b"]
    (status,) = [each for each in consumer.member.status() if each.commit_offset == 2]
    assert status.cached == 0


def test_workers_survive_unexpected_errors() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    cluster.faults[RequestCode.CONSUMER_SEND_MSG_BACK] = lambda *_: ZeroDivisionError("odd")
    settings = dataclasses.replace(FIRST, consume_threads=1)
    consumer = Consumer(cluster, settings=settings, outcome=lambda _: LATER).start()
    assert consumer.bodies == ["a", "b"]
    assert any("odd" in line for line in cluster.driver.lines)
    consumer.outcome = None
    cluster.pass_time(6.0)
    assert consumer.bodies == ["a", "b", "a", "b"], "what could not be given back is here again"


def test_a_message_held_beyond_the_timeout_is_delivered_again() -> None:
    cluster = Cluster()
    cluster.store("a")
    release = Signal()

    async def hang(messages: list[ReceivedMessage]) -> Outcome:
        if messages[0].reconsume_times:
            return SUCCESS
        await Wait(FOREVER, release)
        return LATER

    Consumer(cluster).start(listener=hang)
    cluster.pass_time(890.0)
    assert delay_levels(cluster) == []
    cluster.pass_time(120.0)
    assert delay_levels(cluster) == ["3"]
    release.fire()
    cluster.pass_time(1.0)
    assert delay_levels(cluster) == ["3"], "its late outcome is nobody's any more"


def test_async_listeners_run_side_by_side() -> None:
    cluster = Cluster()
    cluster.store(*"abcdefgh")
    under_way, most = 0, 0

    async def listen(messages: list[ReceivedMessage]) -> Outcome:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await Wait(cluster.driver.clock.monotonic() + 1.0)
        under_way -= 1
        return None

    settings = dataclasses.replace(FIRST, consume_threads=3)
    consumer = Consumer(cluster, settings=settings).start(listener=listen)
    cluster.pass_time(2.0)
    assert most == 3
    assert consumer.member.stats.consumed == 6
    cluster.pass_time(1.0)
    assert consumer.member.stats.consumed == 8


def test_closing_waits_for_listeners_and_starts_none() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    ended: list[bytes] = []

    async def listen(messages: list[ReceivedMessage]) -> Outcome:
        await Wait(cluster.driver.clock.monotonic() + 2.0)
        ended.extend(message.body for message in messages)
        return None

    settings = dataclasses.replace(FIRST, consume_threads=1)
    consumer = Consumer(cluster, settings=settings).start(listener=listen)
    consumer.close()
    cluster.pass_time(10.0)
    assert ended == [b"a"]
    again = Consumer(cluster, "other@1").start()
    cluster.pass_time(1.0)
    assert again.bodies == ["b"]


def test_a_failure_after_a_release_is_left_to_the_new_owner() -> None:
    cluster = Cluster()
    cluster.store("a", queue_id=3)
    release = Signal()

    async def hang(messages: list[ReceivedMessage]) -> Outcome:
        await Wait(FOREVER, release)
        return LATER

    Consumer(cluster, "c@1").start(listener=hang)
    other = Consumer(cluster, "c@2").start()
    cluster.pass_time(3.0)
    assert other.bodies == ["a"]
    release.fire()
    cluster.pass_time(1.0)
    assert delay_levels(cluster) == []


def test_a_retried_message_goes_to_the_listener_of_its_topic() -> None:
    cluster = Cluster()
    cluster.add_topic("U")
    cluster.store("t")
    cluster.store("u", topic="U")
    heard: list[tuple[str, list[bytes]]] = []

    def listener(name: str, outcome: Outcome) -> object:
        def listen(messages: list[ReceivedMessage]) -> Outcome:
            heard.append((name, [message.body for message in messages]))
            return outcome

        return listen

    settings = dataclasses.replace(FIRST, consume_batch=32)
    consumer = Consumer(cluster, settings=settings)
    consumer.member.subscribe("U", "*", listener("U", LATER))  # type: ignore[arg-type]  # it is
    consumer.start(listener=listener("T", LATER))  # type: ignore[arg-type]  # it is
    cluster.pass_time(20.0)
    assert sorted(heard) == [("T", [b"t"])] * 2 + [("U", [b"u"])] * 2
    consumer.member.unsubscribe("U")
    cluster.pass_time(60.0)
    assert consumer.member.stats.failures == {"U": 1}
    assert "no listener for U" in (consumer.member.stats.last_error or "")
