"""Turns of the core: what is asked for each of them, and what for some only."""

from __future__ import annotations

from gantrymq.broker.core.broker import CHECK_SECONDS
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import Answer, Channel, Request
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.pulls import pull
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.stores.store import message as record
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import encode
from gantrymq.wire.headers.offset import GetMaxOffsetRequest
from gantrymq.wire.version import OWN_VERSION

SEND = RequestCode.SEND_MESSAGE_V2
FRAME = encode(Command(SEND, ext=message().encode(), body=b"hello", version=OWN_VERSION))


class Asked:
    """A service that counts how often it is asked when it is due."""

    def __init__(self) -> None:
        self.count = 0
        self.due = float("inf")
        self.expired: list[float] = []

    def deadline(self) -> float:
        self.count += 1
        return self.due

    def expire(self, now: float) -> None:
        self.expired.append(now)
        self.due = float("inf")

    def closed(self, channel: Channel) -> None: ...


def opened() -> tuple[OpenedBroker, Asked]:
    """A broker whose only service is this one, at rest; the kernel takes sends to its topic."""
    broker = OpenedBroker()
    add_topic(broker)
    broker.ask(SEND, message(), b"first")
    service = Asked()
    broker.broker._schedule.periodic = [service]
    broker.settle()
    service.count = 0
    return broker, service


def turn_after_a_send(broker: OpenedBroker, after_seconds: float = 0.0) -> None:
    broker.now += after_seconds
    _, count = broker.broker.feed(broker.channel, FRAME, 0, broker.now, broker.wall_ms)
    assert count == 1
    broker.broker.turn(broker.now, broker.wall_ms)
    broker.broker.take_effects()
    broker.broker.deadline()


def test_sends_without_waiting_consumers_ask_no_service() -> None:
    broker, service = opened()
    for _ in range(3):
        turn_after_a_send(broker)
    assert service.count == 0


def test_turn_for_replication_progress_asks_no_service() -> None:
    broker, service = opened()
    broker.broker.log_moves()
    broker.broker.turn(broker.now, broker.wall_ms)
    broker.broker.deadline()
    assert service.count == 0
    broker.broker.turn(broker.now, broker.wall_ms)  # for something else
    assert service.count > 0


def test_service_runs_when_it_is_due_while_only_sends_arrive() -> None:
    broker, service = opened()
    service.due = broker.now + CHECK_SECONDS / 4
    broker.settle()
    turn_after_a_send(broker)
    assert service.expired == []
    turn_after_a_send(broker, CHECK_SECONDS / 2)
    assert service.expired == [broker.now]


def test_wall_clock_that_goes_back_is_noticed_soon_while_only_sends_arrive() -> None:
    broker, service = opened()
    turn_after_a_send(broker)
    service.due = 0.0  # by the wall clock; the core is not told
    turn_after_a_send(broker, CHECK_SECONDS / 2)
    assert service.expired == []
    turn_after_a_send(broker, CHECK_SECONDS)
    assert service.expired == [broker.now]


def test_any_other_call_makes_the_core_ask_its_services() -> None:
    broker, service = opened()
    header = GetMaxOffsetRequest(topic="T", queue_id=0)
    broker.ask(RequestCode.GET_MAX_OFFSET, header)
    assert service.count > 0
    service.count = 0
    broker.broker.turn(broker.now, broker.wall_ms)  # for the disk, or by the clock
    assert service.count > 0


def test_request_among_sends_makes_the_core_ask_its_services() -> None:
    broker, service = opened()
    request = Request(Command(9999), broker.channel)  # answered at once, without any step
    broker.broker.handle(request, broker.now, broker.wall_ms)
    turn_after_a_send(broker)
    assert service.count > 0


def test_task_that_continues_among_sends_makes_the_core_ask_its_services() -> None:
    broker, service = opened()
    broker.broker.feed(broker.channel, FRAME, 0, broker.now, broker.wall_ms)
    results: list[object] = []
    broker.state.task_runner.start(tasks.put(record(1)), results.append, results.append)
    broker.broker.turn(broker.now, broker.wall_ms)
    assert len(results) == 1
    assert service.count > 0


def test_task_that_resumes_makes_the_core_ask_its_services() -> None:
    broker, service = opened()
    results: list[object] = []
    due = broker.now + CHECK_SECONDS
    broker.state.task_runner.start(tasks.wait(due), results.append, results.append)
    broker.settle()
    turn_after_a_send(broker, CHECK_SECONDS)
    assert len(results) == 1
    service.count = 0
    turn_after_a_send(broker)
    assert service.count > 0


def test_arriving_message_answers_a_held_pull_in_the_same_turn() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    broker.ask(SEND, message(), b"first")
    waiting = broker.send(RequestCode.PULL_MESSAGE, pull(1, sys_flag=6))
    assert broker.is_held(waiting)
    broker.broker.feed(broker.channel, FRAME, 0, broker.now, broker.wall_ms)
    broker.broker.turn(broker.now, broker.wall_ms)
    answers = [
        effect.command.code
        for effect in broker.broker.take_effects()
        if isinstance(effect, Answer) and effect.request is waiting
    ]
    assert answers == [ResponseCode.SUCCESS]
