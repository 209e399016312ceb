"""Tests how many waiting pops are tried in a turn, and that one connection leaves room."""

from __future__ import annotations

import pytest

from gantrymq.base.memory_account import Kind
from gantrymq.broker.core.pop import waiting
from gantrymq.broker.core.pop.waiters import Waiter
from gantrymq.fakes.brokers.broker import FakeChannel
from gantrymq.fakes.brokers.pops import PoppedBroker, bodies, messages, pop
from gantrymq.fakes.memory import shrink
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.pop import NotificationRequest


def tries_by_turn(broker: PoppedBroker, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tries each turn begins from now on, while there are some."""
    counts: list[int] = []
    try_ = waiting.Waiting._try

    def counted(self: waiting.Waiting, waiter: Waiter) -> None:
        counts[-1] += 1
        try_(self, waiter)

    monkeypatch.setattr(waiting.Waiting, "_try", counted)
    for _ in range(9):
        counts.append(0)
        broker.broker.broker.turn(broker.broker.now, broker.broker.wall_ms)
        broker.broker.opened.background.complete_all()
    monkeypatch.setattr(waiting.Waiting, "_try", try_)
    broker.broker.settle()
    return [count for count in counts if count]


def test_one_turn_tries_a_limited_number_of_requests_when_messages_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "TRIES_A_TURN", 2)
    broker = PoppedBroker()
    requests = [broker.pop(consumer_group=f"G{number}") for number in range(5)]
    broker.begin_to_store("a")
    assert tries_by_turn(broker, monkeypatch) == [2, 2, 1]
    assert [bodies(messages(broker.answer(each))) for each in requests] == [["a"]] * 5


def test_one_turn_tries_a_limited_number_of_expired_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "TRIES_A_TURN", 2)
    broker = PoppedBroker()
    requests = [broker.pop() for _ in range(5)]
    broker.broker.now += 100
    assert tries_by_turn(broker, monkeypatch) == [2, 2, 1]
    assert not any(broker.broker.is_held(each) for each in requests)
    assert broker.broker.broker.deadline() > broker.broker.now


def test_one_turn_answers_a_limited_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "ANSWERED_BYTES_A_TURN", 1)
    broker = PoppedBroker()
    requests = [broker.pop(consumer_group=f"G{number}") for number in range(3)]
    broker.begin_to_store("a")
    assert tries_by_turn(broker, monkeypatch) == [1, 1, 1]
    assert not any(broker.broker.is_held(each) for each in requests)


def test_one_connection_cannot_use_up_the_limit_of_waiting_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "CHANNEL_WAITING_MAX", 2)
    broker, greedy = PoppedBroker(), FakeChannel()
    for _ in range(2):
        assert broker.broker.is_held(broker.pop(channel=greedy))
    assert broker.answer(broker.pop(channel=greedy)).code == ResponseCode.POLLING_FULL
    assert broker.broker.is_held(broker.pop(channel=FakeChannel()))


def test_request_with_a_body_does_not_wait() -> None:
    broker = PoppedBroker()
    notified = NotificationRequest(
        consumer_group="G", topic="T", queue_id=0, poll_time=15_000, born_time=0
    )
    for code, header in ((RequestCode.POP_MESSAGE, pop()), (RequestCode.NOTIFICATION, notified)):
        answer = broker.broker.ask(code, header, bytes(1 << 20))
        assert answer.code == ResponseCode.INVALID_PARAMETER
        assert "send it without a body" in (answer.remark or "")
    assert len(broker.services.pops.waiting) == 0


def test_waiting_requests_may_take_a_limited_number_of_bytes() -> None:
    broker, first = PoppedBroker(), FakeChannel()
    shrink(broker.state.memory, Kind.POPS, 33_000)
    for _ in range(2):
        request = broker.broker.send(RequestCode.POP_MESSAGE, pop(), bytes(15_000), channel=first)
        assert broker.broker.is_held(request)
    assert broker.answer(broker.pop()).code == ResponseCode.POLLING_FULL
    broker.broker.close(first)
    assert broker.state.memory.held_of(Kind.POPS) == 0
    assert broker.broker.is_held(broker.pop())


# ---------------------------------------------------------------------- filters

FILTERS = [{"exp": "B", "exp_type": "TAG"}, {"exp": "TAGS = 'B'", "exp_type": "SQL92"}]


@pytest.mark.parametrize("wanted", FILTERS)
@pytest.mark.parametrize("queue_id", [0, -1])
def test_filter_finds_a_match_behind_many_other_messages(
    wanted: dict[str, str], queue_id: int
) -> None:
    broker = PoppedBroker()
    broker.store(*["x"] * 3_000, TAGS="A")
    broker.store("b", TAGS="B")
    waiting = broker.pop(channel=None, queue_id=queue_id, **wanted)
    assert bodies(messages(broker.answer(waiting))) == ["b"]


@pytest.mark.parametrize("wanted", FILTERS)
def test_pop_waits_when_its_filter_matches_no_message(wanted: dict[str, str]) -> None:
    broker = PoppedBroker()
    broker.store(*["x"] * 3_000, TAGS="A")
    waiting = broker.pop(channel=None, **wanted)
    assert broker.broker.is_held(waiting)
    assert broker.stored() == 3_000
    broker.store("b", TAGS="B")
    assert bodies(messages(broker.answer(waiting))) == ["b"]
