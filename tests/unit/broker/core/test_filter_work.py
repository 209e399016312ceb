"""How filters by SQL92 share the turns of the loop with all else, and when their work ends."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gantrymq.broker.core.messages import ANSWERED_LATER, Answer, Release, Reply, Request
from gantrymq.fakes.brokers.broker import FakeChannel
from gantrymq.fakes.brokers.pulls import SUBSCRIBES, SUSPENDS, PulledBroker, bodies, place, pull
from gantrymq.store.read.pull_batch import FILTERED_SECONDS
from gantrymq.store.read.work_meter import TURN_SECONDS
from gantrymq.wire.bodies.heartbeat import EXPRESSION_SQL92
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

NAMES = [f"message {number}" for number in range(40)]
# A filter looks at two messages in a turn.
LOOK_SECONDS = TURN_SECONDS * 0.6


@dataclass
class Ticking:
    """A clock that goes on by the same time whenever it is read."""

    seconds: float = LOOK_SECONDS
    now: float = 0.0

    def __call__(self) -> float:
        self.now += self.seconds
        return self.now


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def pulls(clock: Ticking) -> PulledBroker:
    pulls = PulledBroker()
    pulls.store(*NAMES[:-1], color="red")
    pulls.store(NAMES[-1], color="blue")
    pulls.state.store.filter_meter._clock = clock
    return pulls


class Turns:
    """A broker that gets its turns one by one."""

    def __init__(self, pulls: PulledBroker) -> None:
        self._broker = pulls.broker
        self._core = pulls.broker.broker
        self.answers: dict[Request, Command] = {}
        self.released: list[Request] = []

    def begin(self, channel: FakeChannel, wanted: str = "color = 'blue'") -> Request:
        """A pull of queue 0 comes in."""
        header = pull(subscription=wanted, expression_type=EXPRESSION_SQL92)
        request = Request(Command(RequestCode.PULL_MESSAGE, ext=header.encode()), channel)
        outcome = self._core.handle(request, self._broker.now, self._broker.wall_ms)
        if isinstance(outcome, Reply):
            self.answers[request] = outcome.command
        return request

    def turn(self) -> None:
        self._core.turn(self._broker.now, self._broker.wall_ms)
        self.take()

    def close(self, channel: FakeChannel) -> None:
        self._core.closed(channel, self._broker.now, self._broker.wall_ms)
        self.take()

    def take(self) -> None:
        for effect in self._core.take_effects():
            if isinstance(effect, Answer):
                self.answers[effect.request] = effect.command
            elif isinstance(effect, Release):
                self.released.append(effect.request)

    def answered(self, *requests: Request) -> None:
        """Turn until all of these are answered."""
        for _ in range(1_000):
            if all(request in self.answers for request in requests):
                return
            self.turn()
        raise AssertionError("no answer")


def test_a_filter_goes_on_in_further_turns_and_finds_all_the_same(pulls: PulledBroker) -> None:
    turns = Turns(pulls)
    request = turns.begin(FakeChannel())
    for _ in range(10):
        turns.turn()
    assert request not in turns.answers, "ten turns are too short for forty messages"

    turns.answered(request)

    assert bodies(turns.answers[request]) == NAMES[-1:]
    assert place(turns.answers[request])[0] == len(NAMES)


def test_pulls_share_one_turn_of_filter_work(pulls: PulledBroker, clock: Ticking) -> None:
    turns = Turns(pulls)
    for _ in range(50):
        turns.begin(FakeChannel())

    began = clock.now
    turns.turn()

    assert clock.now - began < 5 * LOOK_SECONDS


def test_connections_get_the_same_share_however_many_pulls_they_have(pulls: PulledBroker) -> None:
    turns = Turns(pulls)
    greedy, modest = FakeChannel(), FakeChannel()
    many = [turns.begin(greedy) for _ in range(20)]
    single = turns.begin(modest)

    turns.answered(single)

    assert not any(request in turns.answers for request in many[1:])


def test_a_pull_without_a_filter_does_not_wait_for_those_with_one(pulls: PulledBroker) -> None:
    turns = Turns(pulls)
    for _ in range(20):
        turns.begin(FakeChannel())
    header = pull(subscription="*")
    request = Request(Command(RequestCode.PULL_MESSAGE, ext=header.encode()), FakeChannel())

    outcome = pulls.broker.broker.handle(request, 0.0, 0)

    assert isinstance(outcome, Reply)
    assert bodies(outcome.command) == NAMES[:32]


def test_the_work_of_a_closed_connection_ends_at_once(pulls: PulledBroker, clock: Ticking) -> None:
    turns = Turns(pulls)
    channel = FakeChannel()
    requests = [turns.begin(channel) for _ in range(20)]
    turns.turn()

    turns.close(channel)

    assert turns.released == requests
    assert len(pulls.state.task_runner) == 0
    assert len(pulls.state.store.reader) == 0
    began = clock.now
    turns.turn()
    assert clock.now == began
    assert not turns.answers


def test_a_held_pull_that_filters_ends_with_its_connection(pulls: PulledBroker) -> None:
    turns = Turns(pulls)
    channel = FakeChannel()
    header = pull(
        len(NAMES),
        subscription="color = 'green'",
        expression_type=EXPRESSION_SQL92,
        sys_flag=SUBSCRIBES | SUSPENDS,
    )
    request = Request(Command(RequestCode.PULL_MESSAGE, ext=header.encode()), channel)
    assert pulls.broker.broker.handle(request, 0.0, 0) is ANSWERED_LATER
    pulls.begin_to_store(*NAMES, color="red")
    for _ in range(3):
        turns.turn()
    assert len(pulls.state.store.reader) == 1, "the filter is at work"

    turns.close(channel)

    assert turns.released == [request]
    assert (len(pulls.state.task_runner), len(pulls.state.store.reader)) == (0, 0)


def test_a_filter_that_takes_too_long_is_answered_with_how_far_it_came(
    pulls: PulledBroker, clock: Ticking
) -> None:
    turns = Turns(pulls)
    request = turns.begin(FakeChannel())
    turns.turn()
    clock.now += FILTERED_SECONDS

    turns.answered(request)

    answer = turns.answers[request]
    assert (answer.code, answer.body) == (ResponseCode.PULL_RETRY_IMMEDIATELY, b"")
    assert 0 < place(answer)[0] < len(NAMES)


def test_a_filter_that_others_left_no_time_gets_on_nevertheless(
    pulls: PulledBroker, clock: Ticking
) -> None:
    turns = Turns(pulls)
    turns.begin(FakeChannel())  # it uses up the share of this turn
    request = turns.begin(FakeChannel())
    clock.now += FILTERED_SECONDS

    turns.answered(request)

    assert place(turns.answers[request])[0] > 0


def test_an_expression_that_is_too_dear_is_refused_with_what_it_costs(pulls: PulledBroker) -> None:
    wanted = " AND ".join(f"a CONTAINS 'x{number}'" for number in range(740))

    answer = pulls.ask(subscription=wanted, expression_type=EXPRESSION_SQL92)

    assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert answer.remark is not None
    assert "comparisons of characters for each message, 2500000 are allowed" in answer.remark
