"""Turns of the core: what is asked for each of them, and what for some only."""

from __future__ import annotations

from gantrymq.broker.core.broker import LOOK_SECONDS
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
    """A machine that counts how often it is asked when it is due."""

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
    """A broker whose only machine is this one, at rest; the kernel takes sends to its topic."""
    broker = OpenedBroker()
    add_topic(broker)
    broker.ask(SEND, message(), b"first")
    machine = Asked()
    broker.broker._machines = [machine]
    broker.settle()
    machine.count = 0
    return broker, machine


def turn_after_a_send(broker: OpenedBroker, after_seconds: float = 0.0) -> None:
    broker.now += after_seconds
    _, count = broker.broker.feed(broker.channel, FRAME, 0, broker.now, broker.wall_ms)
    assert count == 1
    broker.broker.turn(broker.now, broker.wall_ms)
    broker.broker.take_effects()
    broker.broker.deadline()


def test_sends_that_nobody_waits_for_ask_no_machine() -> None:
    broker, machine = opened()
    for _ in range(3):
        turn_after_a_send(broker)
    assert machine.count == 0


def test_a_turn_for_a_log_that_moves_asks_no_machine() -> None:
    broker, machine = opened()
    broker.broker.log_moves()
    broker.broker.turn(broker.now, broker.wall_ms)
    broker.broker.deadline()
    assert machine.count == 0
    broker.broker.turn(broker.now, broker.wall_ms)  # for something else
    assert machine.count > 0


def test_a_machine_is_asked_when_it_is_due_though_only_sends_come() -> None:
    broker, machine = opened()
    machine.due = broker.now + LOOK_SECONDS / 4
    broker.settle()
    turn_after_a_send(broker)
    assert machine.expired == []
    turn_after_a_send(broker, LOOK_SECONDS / 2)
    assert machine.expired == [broker.now]


def test_a_calendar_that_is_set_back_is_noticed_soon_though_only_sends_come() -> None:
    broker, machine = opened()
    turn_after_a_send(broker)
    machine.due = 0.0  # by the calendar, which nobody told the core
    turn_after_a_send(broker, LOOK_SECONDS / 2)
    assert machine.expired == []
    turn_after_a_send(broker, LOOK_SECONDS)
    assert machine.expired == [broker.now]


def test_after_anything_else_the_machines_are_asked() -> None:
    broker, machine = opened()
    header = GetMaxOffsetRequest(topic="T", queue_id=0)
    broker.ask(RequestCode.GET_MAX_OFFSET, header)
    assert machine.count > 0
    machine.count = 0
    broker.broker.turn(broker.now, broker.wall_ms)  # for the disk, or by the clock
    assert machine.count > 0


def test_a_request_among_the_sends_has_the_machines_asked() -> None:
    broker, machine = opened()
    request = Request(Command(9999), broker.channel)  # answered at once, without any step
    broker.broker.handle(request, broker.now, broker.wall_ms)
    turn_after_a_send(broker)
    assert machine.count > 0


def test_a_work_among_the_sends_that_goes_on_has_the_machines_asked() -> None:
    broker, machine = opened()
    broker.broker.feed(broker.channel, FRAME, 0, broker.now, broker.wall_ms)
    results: list[object] = []
    broker.state.task_runner.start(tasks.put(record(1)), results.append, results.append)
    broker.broker.turn(broker.now, broker.wall_ms)
    assert len(results) == 1
    assert machine.count > 0


def test_after_a_work_that_waited_goes_on_the_machines_are_asked_again() -> None:
    broker, machine = opened()
    results: list[object] = []
    due = broker.now + LOOK_SECONDS
    broker.state.task_runner.start(tasks.wait(due), results.append, results.append)
    broker.settle()
    turn_after_a_send(broker, LOOK_SECONDS)
    assert len(results) == 1
    machine.count = 0
    turn_after_a_send(broker)
    assert machine.count > 0


def test_what_arrives_is_given_in_the_same_turn_to_who_waits_for_it() -> None:
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
