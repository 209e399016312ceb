"""Tests that each step of a task is answered once, and that a failing task ends alone."""

from __future__ import annotations

import pytest

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.stalls import STALL_SECONDS
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import File, LogLine, Request
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.stores.store import message
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.record.put_status import PutStatus
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command


class Begun:
    """A task that runs, with its results and failures."""

    def __init__(self, broker: OpenedBroker, task: Task[object]) -> None:
        self.results: list[object] = []
        self.failures: list[Exception] = []
        broker.state.task_runner.start(task, self.results.append, self.failures.append)


def test_put_is_answered_when_it_is_stored() -> None:
    broker = OpenedBroker()
    begun = Begun(broker, tasks.put(message(1)))
    assert begun.results == []
    broker.settle()
    (answer,) = begun.results
    assert getattr(answer, "status", None) is PutStatus.PUT_OK
    assert broker.bodies("T") == [b"body 1"]


def test_refused_put_is_answered_at_once() -> None:
    broker = OpenedBroker()
    illegal = message(1)
    illegal.body = b""
    begun = Begun(broker, tasks.put(illegal))
    (answer,) = begun.results
    assert getattr(answer, "status", None) is PutStatus.MESSAGE_ILLEGAL


def test_several_steps_run_one_after_the_other() -> None:
    def twice() -> Task[list[int]]:
        first = yield from tasks.put(message(1))
        yield from tasks.wait(5.0)
        second = yield from tasks.put(message(2))
        return [first.queue_offset, second.queue_offset]

    broker = OpenedBroker()
    begun = Begun(broker, twice())
    broker.settle()
    assert broker.bodies("T") == [b"body 1"]
    broker.pass_time(5.0)
    assert begun.results == [[0, 1]]


def test_error_of_a_read_is_raised_in_the_task_that_asked() -> None:
    def broken() -> ReadTask[int]:
        yield None
        raise DiskError(DiskFailure.BROKEN, "read", "x", "worn out")

    def reads() -> Task[str]:
        try:
            yield from tasks.read(broken())
        except DiskError as error:
            return f"told: {error.failure.name}"
        return "nothing happened"

    broker = OpenedBroker()
    begun = Begun(broker, reads())
    broker.settle()
    assert begun.results == ["told: BROKEN"]


def test_task_gets_the_answer_of_a_client_or_none() -> None:
    broker = OpenedBroker()
    channel = FakeChannel()
    answered = Begun(broker, tasks.ask(channel, Command(307), 3.0))
    silent = Begun(broker, tasks.ask(channel, Command(307), 3.0))
    broker.settle()
    broker.client_answers(channel.asked[0], Command(0, remark="here"))
    broker.client_answers(channel.asked[1], None)
    (response,) = answered.results
    assert isinstance(response, Command)
    assert response.remark == "here"
    assert silent.results == [None]


def test_task_that_saves_a_file_learns_why_the_write_failed() -> None:
    broker = OpenedBroker()
    begun = Begun(broker, tasks.saved(File.TOPICS))
    broker.state.files.take_due(0.0)
    broker.broker.written(File.TOPICS, "no space", 0.0, 0)
    assert begun.results == ["no space"]


def test_task_that_raises_ends_alone() -> None:
    def broken() -> Task[None]:
        yield from tasks.wait()
        raise ZeroDivisionError

    broker = OpenedBroker()
    begun = Begun(broker, broken())
    other = Begun(broker, tasks.wait())
    broker.settle()
    assert [type(error) for error in begun.failures] == [ZeroDivisionError]
    assert other.results == [None]
    assert len(broker.state.task_runner) == 0


def ending(broker: OpenedBroker, error: Exception) -> None:
    """Start a task whose callback raises `error` when the task ends."""

    def then(_: object) -> None:
        raise error

    broker.state.task_runner.start(tasks.wait(), then, lambda _: None)


def test_callback_that_raises_is_logged_and_other_tasks_continue() -> None:
    broker = OpenedBroker()
    broker.settle()
    ending(broker, ValueError("a number of 5000 digits"))
    other = Begun(broker, tasks.wait())
    broker.broker.turn(broker.now, broker.wall_ms)
    (line,) = [each for each in broker.broker.take_effects() if isinstance(each, LogLine)]
    assert isinstance(line.cause, ValueError)
    assert other.results == [None]


@pytest.mark.parametrize(
    "error",
    [AssertionError(), SyncFailedError(DiskError(DiskFailure.BROKEN, "sync", "x", "worn out"))],
)
def test_callback_that_breaks_an_invariant_or_fails_to_sync_ends_the_turn(error: Exception) -> None:
    broker = OpenedBroker()
    broker.settle()
    ending(broker, error)
    with pytest.raises(type(error)):
        broker.broker.turn(broker.now, broker.wall_ms)


def test_step_that_blocks_the_loop_is_counted_by_its_request() -> None:
    broker = OpenedBroker()
    time = [0.0]
    broker.state.stalls.clock = lambda: time[0]

    def slow() -> Task[None]:
        yield from tasks.wait()
        time[0] += STALL_SECONDS

    request = Request(Command(RequestCode.GET_TOPIC_STATS_INFO), broker.channel)
    broker.state.task_runner.start(slow(), lambda _: None, lambda _: None, request)
    broker.state.task_runner.start(slow(), lambda _: None, lambda _: None)
    broker.settle()

    assert dict(broker.state.stalls.counts) == {
        "GET_TOPIC_STATS_INFO": 1,
        "work of the broker's own": 1,
    }
