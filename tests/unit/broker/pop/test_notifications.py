"""Notifications that wait: how many of them a message is told to, and which."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.pop import waiting
from gantrymq.fakes.brokers.broker import FakeChannel
from gantrymq.fakes.brokers.pops import PoppedBroker, bodies, messages
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.pop import (
    NotificationRequest,
    PollingInfoRequest,
)


def notify(
    broker: PoppedBroker, queue_id: int = -1, poll_ms: int = 10_000, *, group: str = "G"
) -> Request:
    header = NotificationRequest(
        consumer_group=group, topic="T", queue_id=queue_id, poll_time=poll_ms, born_time=0
    )
    return broker.broker.send(RequestCode.NOTIFICATION, header, channel=FakeChannel())


def told(broker: PoppedBroker, requests: list[Request]) -> list[bool | None]:
    """What each was answered, None for those that wait."""
    answers = []
    for request in requests:
        held = broker.broker.is_held(request)
        answers.append(None if held else (broker.answer(request).ext or {})["hasMsg"] == "true")
    return answers


def test_message_is_announced_to_the_latest_request() -> None:
    broker = PoppedBroker()
    requests = [notify(broker) for _ in range(3)]
    broker.store("a")
    assert told(broker, requests) == [None, None, True]


def test_message_is_announced_to_one_request_for_its_queue_and_one_for_all_queues() -> None:
    broker = PoppedBroker()
    requests = [notify(broker, queue_id) for queue_id in (0, 0, -1, -1, 1)]
    broker.store("a")
    assert told(broker, requests) == [None, True, None, True, None]


def test_each_message_is_announced_to_one_request() -> None:
    broker = PoppedBroker()
    requests = [notify(broker) for _ in range(4)]
    broker.store("a", "b")
    assert told(broker, requests) == [None, None, True, True]
    broker.store("c")
    assert told(broker, requests) == [None, True, True, True]


def test_message_is_announced_to_each_group() -> None:
    broker = PoppedBroker()
    requests = [notify(broker, group=group) for group in ("G", "H", "G", "H")]
    broker.store("a")
    assert told(broker, requests) == [None, None, True, True]


def test_request_is_answered_when_its_time_is_up() -> None:
    broker = PoppedBroker()
    requests = [notify(broker, poll_ms=2_000) for _ in range(2)]
    broker.store("a")
    assert told(broker, requests) == [None, True]
    broker.broker.pass_time(3)
    assert told(broker, requests) == [True, True]


def test_message_that_a_pop_took_is_not_announced() -> None:
    broker = PoppedBroker()
    requests = [notify(broker), notify(broker)]
    pop = broker.pop(queue_id=-1)
    broker.store("a")
    assert bodies(messages(broker.answer(pop))) == ["a"]
    assert told(broker, requests) == [None, None]
    broker.store("b")
    assert told(broker, requests) == [None, True]


def test_one_message_answers_one_pop_that_waits_for_all_queues() -> None:
    broker = PoppedBroker()
    pops = [broker.pop(queue_id=-1) for _ in range(3)]
    broker.store("a")
    assert [broker.broker.is_held(each) for each in pops] == [False, True, True]


def test_message_that_becomes_visible_again_is_announced_to_one_request() -> None:
    broker = PoppedBroker()
    broker.store("a")
    (message,) = broker.popped(invisible_time=1_000)
    requests = [notify(broker) for _ in range(2)]
    assert told(broker, requests) == [None, None]
    broker.broker.pass_time(5)
    assert told(broker, requests) == [None, True]
    assert bodies(broker.popped()) == [message.body]


def test_topic_that_was_created_again_is_announced_from_its_first_message() -> None:
    broker = PoppedBroker()
    requests = [notify(broker) for _ in range(3)]
    broker.store("a", "b")
    assert told(broker, requests) == [None, True, True]
    broker.services.pops.waiting._topics["T"].ends[0] = 100
    broker.store("c")
    assert told(broker, requests) == [True, True, True]


def test_one_turn_tries_a_limited_number_of_notifications(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "TRIES_A_TURN", 2)
    broker = PoppedBroker()
    requests = [notify(broker) for _ in range(5)]
    broker.begin_to_store(*"abcde")
    counts = []
    for _ in range(5):
        broker.broker.broker.turn(broker.broker.now, broker.broker.wall_ms)
        broker.broker.opened.background.complete_all()
        counts.append(len(broker.services.pops.waiting))
    assert counts == sorted(counts, reverse=True)
    assert {3, 1, 0} <= set(counts)
    broker.broker.settle()
    assert told(broker, requests) == [True] * 5


def test_nothing_is_kept_of_topics_without_requests_that_wait() -> None:
    broker = PoppedBroker()
    requests = [notify(broker), notify(broker, 0)]
    broker.store("a", "b")
    assert told(broker, requests) == [True, True]
    assert not broker.services.pops.waiting._topics


def test_only_pops_are_counted_as_polling() -> None:
    broker = PoppedBroker()
    notify(broker)
    broker.pop(queue_id=-1)
    header = PollingInfoRequest(consumer_group="G", topic="T", queue_id=-1)
    answer = broker.broker.ask(RequestCode.POLLING_INFO, header)
    assert (answer.ext or {})["pollingNum"] == "1"
