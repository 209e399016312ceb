"""Orderly consumers: one message of a queue after the other, and a queue that stands still."""

from __future__ import annotations

import dataclasses

from gantrymq.client.core.flow.flow_steps import Wait
from gantrymq.client.core.message.outcomes import (
    COMMIT,
    LATER,
    ROLLBACK,
    SUCCESS,
    SUSPEND,
    Outcome,
    Suspend,
)
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.brokers.consumers import FIRST, Consumer
from gantrymq.wire import javajson
from gantrymq.wire.bodies.locks import QueuesOfClient
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

ORDERLY = dataclasses.replace(FIRST, orderly=True)
BY_HAND = dataclasses.replace(ORDERLY, auto_commit=False)


def test_a_failing_message_stalls_its_queue_visibly() -> None:
    cluster = Cluster()
    cluster.store("a", "bad", "c", queue_id=0)
    cluster.store("x", "y", queue_id=1)
    is_mended = False

    def listen(messages: list[ReceivedMessage]) -> Outcome:
        if messages[0].body == b"bad" and not is_mended:
            raise ValueError("cannot")
        return None

    consumer = Consumer(cluster, settings=ORDERLY)

    def note(messages: list[ReceivedMessage]) -> Outcome:
        consumer.listen(messages)
        return listen(messages)

    consumer.start(listener=note)
    cluster.pass_time(10.0)
    assert [body for body in consumer.bodies if body in "xy"] == ["x", "y"]
    assert "c" not in consumer.bodies
    assert 9 <= consumer.bodies.count("bad") <= 12
    (stalled,) = [each for each in consumer.member.status() if each.trouble]
    assert (stalled.queue.queue_id, stalled.commit_offset) == (0, 1)
    assert stalled.trouble == "the listener fails at offset 1: ValueError('cannot')"
    assert len([line for line in cluster.driver.lines if "queue stalled" in line]) == 1
    is_mended = True
    cluster.pass_time(2.0)
    assert consumer.bodies[-1] == "c"
    assert not any(each.trouble for each in consumer.member.status())


def test_the_listener_chooses_the_pause() -> None:
    cluster = Cluster()
    cluster.store("a")
    consumer = Consumer(cluster, settings=ORDERLY, outcome=lambda _: Suspend(5.0)).start()
    cluster.pass_time(4.0)
    assert len(consumer.calls) == 1
    cluster.pass_time(2.0)
    assert len(consumer.calls) == 2


def test_retries_are_counted_until_the_message_is_a_dead_letter() -> None:
    cluster = Cluster()
    cluster.store("bad", "b")
    times: list[int] = []

    def fail(messages: list[ReceivedMessage]) -> Outcome:
        if messages[0].body == b"bad":
            times.append(messages[0].reconsume_times)
            return SUSPEND
        return None

    settings = dataclasses.replace(ORDERLY, max_reconsume_times=3)
    consumer = Consumer(cluster, settings=settings).start(listener=fail)
    cluster.pass_time(10.0)
    assert times == [0, 1, 2, 3]
    assert cluster.broker.bodies("%DLQ%G") == [b"bad"]
    consumer.close()
    again = Consumer(cluster, "other@1", ORDERLY).start()
    assert again.bodies == []


def test_a_queue_survives_unexpected_errors() -> None:
    cluster = Cluster()
    cluster.store("bad", "b", queue_id=0)
    cluster.faults[RequestCode.SEND_MESSAGE_V2] = lambda *_: ZeroDivisionError("odd")
    settings = dataclasses.replace(ORDERLY, max_reconsume_times=0)

    def suspend_bad(messages: list[ReceivedMessage]) -> Outcome:
        return SUSPEND if messages[0].body == b"bad" else None

    consumer = Consumer(cluster, settings=settings, outcome=suspend_bad).start()
    cluster.pass_time(3.0)
    assert len(consumer.bodies) > 2
    assert set(consumer.bodies) == {"bad"}, "the order is kept"
    assert any(each.trouble and "odd" in each.trouble for each in consumer.member.status())
    cluster.faults.clear()
    cluster.pass_time(3.0)
    assert consumer.bodies[-1] == "b"


def test_later_is_refused_for_orderly_listeners() -> None:
    cluster = Cluster()
    cluster.store("a")
    consumer = Consumer(cluster, settings=ORDERLY, outcome=lambda _: LATER).start()
    assert "cannot return LATER" in (consumer.member.stats.last_error or "")
    assert not cluster.asked_of(RequestCode.CONSUMER_SEND_MSG_BACK)


def test_without_auto_commit_progress_is_what_was_committed() -> None:
    cluster = Cluster()
    cluster.store(*"abcd")
    outcomes = {"a": SUCCESS, "b": COMMIT, "c": SUCCESS, "d": SUCCESS}
    consumer = Consumer(
        cluster, settings=BY_HAND, outcome=lambda messages: outcomes[messages[0].body.decode()]
    ).start()
    assert consumer.bodies == ["a", "b", "c", "d"]
    assert [each.commit_offset for each in consumer.member.status()].count(2) == 1


def test_a_rollback_redelivers_everything_since_the_commit() -> None:
    cluster = Cluster()
    cluster.store(*"abcd")
    answers = iter([COMMIT, SUCCESS, SUCCESS, ROLLBACK, SUCCESS, SUCCESS, COMMIT])
    consumer = Consumer(cluster, settings=BY_HAND, outcome=lambda _: next(answers)).start()
    assert consumer.bodies == [*"abcd"]
    cluster.pass_time(2.0)
    assert consumer.bodies == [*"abcd", *"bcd"]
    assert [each.commit_offset for each in consumer.member.status()].count(4) == 1


def test_a_queue_that_another_client_holds_is_not_taken() -> None:
    cluster = Cluster()
    cluster.store("a")
    held = QueuesOfClient(
        client_id="other", consumer_group="G", queues=(MessageQueue("T", "broker-a", 0),)
    )
    body = javajson.dumps_fastjson(held.to_json())
    cluster.broker.ask(RequestCode.LOCK_BATCH_MQ, body=body)
    consumer = Consumer(cluster, settings=ORDERLY).start()
    cluster.pass_time(5.0)
    assert consumer.queues == [("broker-a", 1), ("broker-a", 2), ("broker-a", 3)]
    cluster.broker.ask(RequestCode.UNLOCK_BATCH_MQ, body=body)
    cluster.pass_time(2.0)
    assert consumer.bodies == ["a"]


def test_locks_are_renewed_and_a_lost_one_ends_the_consumption() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster, settings=ORDERLY).start()
    cluster.pass_time(200.0)
    assert all(each.is_locked for each in consumer.member.status())
    cluster.stop("broker-a")
    cluster.pass_time(60.0)
    assert not any(each.is_locked for each in consumer.member.status())
    cluster.restart("broker-a")
    cluster.store("a")
    cluster.pass_time(30.0)
    assert consumer.bodies == ["a"]
    assert any("reason=expired" in line for line in cluster.driver.lines)


def test_locks_are_renewed_after_an_unexpected_error() -> None:
    cluster = Cluster("a", "b")
    consumer = Consumer(cluster, settings=ORDERLY).start()
    failures = 0

    def broken(address: str, command: Command) -> Command | Exception:
        nonlocal failures
        if address == cluster.brokers["a"].address:
            failures += 1
            return ValueError("a request hook's own")
        return command

    cluster.faults[RequestCode.LOCK_BATCH_MQ] = broken
    cluster.pass_time(20.0)
    del cluster.faults[RequestCode.LOCK_BATCH_MQ]
    cluster.pass_time(15.0)
    assert failures == 1
    locked = {each.queue.broker_name for each in consumer.member.status() if each.is_locked}
    assert locked == {"b"}  # one broker's failure is not another's
    cluster.pass_time(30.0)
    assert all(each.is_locked for each in consumer.member.status())


def test_a_queue_changes_its_owner_only_between_messages() -> None:
    cluster = Cluster()
    for queue_id in range(4):
        cluster.store("1", "2", "3", queue_id=queue_id)
    log: list[tuple[str, int, str, str]] = []

    def slow(name: str) -> object:
        async def listen(messages: list[ReceivedMessage]) -> Outcome:
            queue_id, body = messages[0].queue.queue_id, messages[0].body.decode()
            log.append((name, queue_id, body, "begins"))
            await Wait(cluster.driver.clock.monotonic() + 4.0)
            log.append((name, queue_id, body, "ends"))
            return None

        return listen

    one = Consumer(cluster, "c@1", ORDERLY).start(listener=slow("one"))  # type: ignore[arg-type]
    two = Consumer(cluster, "c@2", ORDERLY).start(listener=slow("two"))  # type: ignore[arg-type]
    cluster.pass_time(30.0)
    assert [*one.queues, *two.queues] == [("broker-a", number) for number in range(4)]
    for queue_id in range(4):
        of_queue = [(body, what) for _, number, body, what in log if number == queue_id]
        assert of_queue == [(body, what) for body in ("1", "2", "3") for what in ("begins", "ends")]
    assert {name for name, number, _, _ in log if number == 3} == {"one", "two"}


def test_a_broadcast_group_needs_no_locks() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    settings = dataclasses.replace(ORDERLY, broadcasting=True)
    consumer = Consumer(cluster, settings=settings).start()
    assert consumer.bodies == ["a", "b"]
    assert not cluster.asked_of(RequestCode.LOCK_BATCH_MQ)


def test_a_reset_waits_for_the_running_listener() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    log: list[str] = []

    async def listen(messages: list[ReceivedMessage]) -> Outcome:
        log.append("begins")
        await Wait(cluster.driver.clock.monotonic() + 3.0)
        log.append("ends")
        return None

    consumer = Consumer(cluster, settings=ORDERLY).start(listener=listen)
    consumer.member.reset("T", {MessageQueue("T", "broker-a", 0): 0})
    cluster.pass_time(20.0)
    assert log == ["begins", "ends"] * 3


def test_a_former_owner_does_not_overwrite_progress() -> None:
    """The first one hears of nothing for a while, but can still speak."""
    cluster = Cluster(topics={"T": 1})
    cluster.store("a", "b")
    first = Consumer(cluster, "c@2", ORDERLY).start()
    cluster.pass_time(10.0)

    def unheard(address: str, command: Command) -> Command | Exception:
        return gone(address, command) if cluster.driver.owner == "c@2" else command

    for code in (
        RequestCode.LOCK_BATCH_MQ, RequestCode.PULL_MESSAGE, RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    ):  # fmt: skip
        cluster.faults[code] = unheard
    second = Consumer(cluster, "c@1", ORDERLY).start()
    cluster.pass_time(90.0)
    assert (first.queues, second.queues) == ([("broker-a", 0)], [("broker-a", 0)])
    cluster.store("c")
    progress = []
    for _ in range(20):
        cluster.pass_time(5.0)
        progress.append(cluster.broker.state.offsets.find("G", "T", 0) or 0)
    assert second.bodies == ["c"]
    assert progress == sorted(progress)
    assert progress[-1] == 3


def test_a_consumer_without_its_lock_neither_pulls_nor_commits() -> None:
    """The first one hears of no lock and of no member for a while, all else goes on."""
    cluster = Cluster(topics={"T": 1})
    cluster.store("a", "b")
    first = Consumer(cluster, "c@2", ORDERLY).start()
    cluster.pass_time(10.0)
    pulled_at: list[float] = []

    def unheard(address: str, command: Command) -> Command | Exception:
        return gone(address, command) if cluster.driver.owner == "c@2" else command

    def noted(address: str, command: Command) -> Command:
        del address
        if cluster.driver.owner == "c@2":
            pulled_at.append(cluster.driver.clock.monotonic())
        return command

    cluster.faults[RequestCode.LOCK_BATCH_MQ] = unheard
    cluster.faults[RequestCode.GET_CONSUMER_LIST_BY_GROUP] = unheard
    cluster.faults[RequestCode.PULL_MESSAGE] = noted
    second = Consumer(cluster, "c@1", ORDERLY).start()
    cluster.pass_time(45.0)
    assert not any(each.is_locked for each in first.member.status())
    pulled_at.clear()
    cluster.pass_time(45.0)
    assert (first.queues, second.queues) == ([("broker-a", 0)], [("broker-a", 0)])
    progress = []
    for number in range(20):
        cluster.store(str(number))
        cluster.pass_time(5.0)
        progress.append(cluster.broker.state.offsets.find("G", "T", 0) or 0)
    assert pulled_at == []
    assert first.bodies == ["a", "b"]
    assert len(second.bodies) == 20
    assert progress == sorted(progress)


def test_close_unlocks_a_queue_whose_reset_offset_cannot_be_persisted() -> None:
    cluster = Cluster()
    cluster.store("a", queue_id=0)
    consumer = Consumer(cluster, settings=ORDERLY).start()
    queue = MessageQueue("T", "broker-a", 0)
    cluster.pass_time(1.0)
    cluster.faults[RequestCode.UPDATE_CONSUMER_OFFSET] = gone
    consumer.member.reset("T", {queue: 0})
    consumer.close()
    unlocked = [
        each
        for command in cluster.asked_of(RequestCode.UNLOCK_BATCH_MQ)
        for each in QueuesOfClient.from_json(javajson.loads(command.body)).queues
    ]
    assert queue in unlocked
