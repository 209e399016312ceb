"""Tests how a slave serves pulls, and when consumers are sent to a slave or to the master."""

from dataclasses import replace

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import IDENTITY, OpenedBroker
from gantrymq.fakes.brokers.pulls import SUBSCRIBES, SUSPENDS, PulledBroker, bodies, place
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command


def test_a_slow_consumer_is_sent_to_the_slave_if_that_is_wanted() -> None:
    pulls = PulledBroker(OpenedBroker(BrokerSettings(slave_read_enable=True)))
    pulls.state.memory_bytes = 0
    pulls.store("a", "b")
    pulls.state.groups.put(GroupConfig(group_name="G", which_broker_when_consume_slowly=7), 0)
    answer = pulls.ask(max_msg_nums=1)
    assert answer.ext is not None
    assert answer.ext["suggestWhichBrokerId"] == "7"


def slave_with(*names: str, settings: BrokerSettings | None = None) -> PulledBroker:
    """A slave whose log has these messages."""
    pulls = PulledBroker(OpenedBroker(settings))
    pulls.store(*names)
    pulls.state.identity = replace(IDENTITY, broker_id=1)
    pulls.state.serves = False
    return pulls


def suggested(answer: Command) -> str:
    assert answer.ext is not None
    return answer.ext["suggestWhichBrokerId"]


def test_slave_serves_pulls_without_slave_read_enable() -> None:
    answer = slave_with("a", "b").ask()
    assert (answer.code, bodies(answer)) == (ResponseCode.SUCCESS, ["a", "b"])


@pytest.mark.parametrize("reads", [False, True])
def test_a_slave_sends_consumers_back_to_their_master(reads: bool) -> None:
    pulls = slave_with("a", settings=BrokerSettings(slave_read_enable=reads))
    assert suggested(pulls.ask()) == "0"


def test_a_slow_consumer_stays_with_a_slave_that_is_to_help() -> None:
    pulls = slave_with("a", "b", settings=BrokerSettings(slave_read_enable=True))
    pulls.state.memory_bytes = 0
    assert suggested(pulls.ask(max_msg_nums=1)) == "1"


def test_a_slave_corrects_no_offset() -> None:
    answer = slave_with("a").ask(9)
    assert (answer.code, place(answer)[0]) == (20, 9)


def test_slave_corrects_offsets_if_offset_check_in_slave_is_set() -> None:
    answer = slave_with("a", settings=BrokerSettings(offset_check_in_slave=True)).ask(9)
    assert (answer.code, place(answer)[0]) == (ResponseCode.PULL_OFFSET_MOVED, 1)


def test_pull_waits_on_a_slave_for_messages_that_the_slave_lacks() -> None:
    """Rather than being asked again at once, for as long as the master is away."""
    pulls = slave_with("a")
    request = pulls.send(2, sys_flag=SUBSCRIBES | SUSPENDS, suspend_timeout_millis=15_000)
    pulls.broker.pass_time(14.0)
    assert pulls.broker.is_held(request)
    pulls.broker.pass_time(2.0)
    answer = pulls.answer(request)
    assert (answer.code, place(answer)[0], suggested(answer)) == (20, 2, "0")


def test_pull_held_by_a_slave_gets_the_next_message() -> None:
    pulls = slave_with("a")
    request = pulls.send(2, sys_flag=SUBSCRIBES | SUSPENDS, suspend_timeout_millis=15_000)
    pulls.state.identity = IDENTITY  # so that messages may be put: a slave's come by the log
    pulls.begin_to_store("b", "c")
    pulls.state.identity = replace(IDENTITY, broker_id=1)
    pulls.state.serves = False
    pulls.broker.settle()
    assert bodies(pulls.answer(request)) == ["c"]
