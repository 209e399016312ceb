"""When the broker is too busy for one more send."""

from __future__ import annotations

from gantrymq.broker.core.messages import ANSWERED_LATER, Answer, Reply, Request
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import START_MS, OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command


class Busy:
    """A broker whose turns take as long as the test says."""

    def __init__(self) -> None:
        self.opened = OpenedBroker(BrokerSettings(wait_time_mills_in_send_queue=200))
        add_topic(self.opened)
        self.opened.settle()
        self.now = 0.0

    def send(self) -> Command | None:
        """The answer where there is one at once: a refusal."""
        command = Command(RequestCode.SEND_MESSAGE_V2, ext=message().encode(), body=b"x")
        request = Request(command, self.opened.channel)
        outcome = self.opened.broker.handle(request, self.now, START_MS)
        if isinstance(outcome, Reply):
            return outcome.command
        assert outcome is ANSWERED_LATER
        return None

    def turn(self, seconds: float) -> int:
        """How many sends were answered that had waited so long."""
        self.now += seconds
        self.opened.broker.turn(self.now, START_MS)
        effects = self.opened.broker.take_effects()
        return len([effect for effect in effects if isinstance(effect, Answer)])

    def slow_down(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            assert self.send() is None
            assert self.turn(0.3) == 1


def test_sends_that_all_wait_too_long_keep_others_out() -> None:
    broker = Busy()
    broker.slow_down(1.5)
    assert broker.send() is None  # no send waits: it shows whether the load has fallen
    refused = broker.send()
    assert refused is not None
    assert refused.code == ResponseCode.SYSTEM_BUSY
    remark = refused.remark or ""
    assert remark.startswith(
        "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 300ms,"
        " size of queue: 1"
    )
    assert "waitTimeMillsInSendQueue=200" in remark


def test_single_slow_turn_refuses_no_send() -> None:
    broker = Busy()
    broker.send()
    broker.turn(0.9)
    assert broker.send() is None
    assert broker.send() is None


def test_one_quick_answer_lets_all_in_again() -> None:
    broker = Busy()
    broker.slow_down(1.5)
    broker.send()
    assert broker.turn(0.01) == 1
    assert broker.send() is None
    assert broker.send() is None


def test_refused_messages_count_as_answered() -> None:
    broker = Busy()
    command = Command(RequestCode.SEND_MESSAGE_V2, ext=message().encode(), body=b"")
    broker.opened.broker.handle(Request(command, broker.opened.channel), 0.0, START_MS)
    assert broker.opened.state.admission.waiting == 0


def test_wait_for_a_member_refuses_no_send() -> None:
    """A master that is fenced answers what waited for members, and may lead again."""
    broker = Busy()
    waiters = broker.opened.state.store.waiters
    waiters.for_members = True
    broker.send()
    assert broker.turn(0.01) == 0
    broker.now += 2.5
    waiters.dismiss()
    assert broker.turn(0.01) == 1
    broker.now += 60.0
    assert [broker.send() for _ in range(3)] == [None, None, None]


def test_slow_turns_keep_others_out_where_members_are_waited_for() -> None:
    broker = Busy()
    broker.opened.state.store.waiters.for_members = True
    for _ in range(5):
        assert broker.send() is None
        broker.turn(0.3)
    assert broker.send() is None  # others wait for members, but none to be appended
    assert broker.send() is not None
    broker.turn(0.01)
    assert [broker.send() for _ in range(3)] == [None, None, None]


def test_slow_turns_of_long_ago_refuse_no_send() -> None:
    broker = Busy()
    broker.slow_down(1.5)
    broker.now += 3600.0
    assert [broker.send() for _ in range(3)] == [None, None, None]
    assert broker.turn(0.3) == 3
    assert [broker.send() for _ in range(3)] == [None, None, None]  # the first slow one since then


def test_slow_turn_before_a_pause_of_sends_refuses_no_send() -> None:
    broker = Busy()
    broker.send()
    broker.turn(0.3)
    broker.now += 2.0
    assert [broker.send() for _ in range(3)] == [None, None, None]


def test_turns_that_take_long_themselves_follow_each_other() -> None:
    broker = Busy()
    for _ in range(3):
        assert broker.send() is None
        broker.turn(0.3)
        broker.now += 1.5  # the turn's writes, while nothing is read from sockets
    assert broker.send() is None
    assert broker.send() is not None
