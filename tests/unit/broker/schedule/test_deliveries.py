"""What was accepted reaches its queue though maxMessageSize was lowered meanwhile."""

from __future__ import annotations

from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.pops import PoppedBroker
from gantrymq.fakes.brokers.sends import message
from gantrymq.fakes.brokers.transactions import COMMIT, Transactions
from gantrymq.wire.codes import RequestCode, ResponseCode

BODY = "x" * 5000


def lower_the_limit(broker: OpenedBroker) -> None:
    answer = broker.ask(RequestCode.UPDATE_BROKER_CONFIG, body=b"maxMessageSize=1000")
    assert answer.code == ResponseCode.SUCCESS


def waiting(**named: str) -> OpenedBroker:
    """A broker that accepted a message for later, and would not accept it now."""
    broker = PoppedBroker().broker
    header = message("T", properties={"UNIQ_KEY": "U", **named})
    answer = broker.ask(RequestCode.SEND_MESSAGE_V2, header, BODY.encode())
    assert answer.code == ResponseCode.SUCCESS
    lower_the_limit(broker)
    return broker


def test_a_delayed_message_comes_when_it_is_due() -> None:
    broker = waiting(DELAY="3")
    broker.pass_time(11)
    assert broker.bodies("T") == [BODY.encode()]


def test_a_timer_message_comes_when_it_is_due() -> None:
    broker = waiting(TIMER_DELAY_SEC="20")
    broker.pass_time(22)
    assert broker.bodies("T") == [BODY.encode()]


def test_a_popped_message_comes_again() -> None:
    broker = PoppedBroker()
    broker.store(BODY)
    assert len(broker.popped(invisible_time=10_000)) == 1
    lower_the_limit(broker.broker)
    broker.broker.pass_time(60)
    assert [each.body for each in broker.popped()] == [BODY]


def test_a_transaction_is_asked_after_and_committed() -> None:
    transactions = Transactions(OpenedBroker())
    half = transactions.prepare(BODY.encode())
    lower_the_limit(transactions.broker)
    transactions.broker.pass_time(70)
    assert len(transactions.halves()) > 1
    assert transactions.code(half, COMMIT) == ResponseCode.SUCCESS
    assert transactions.delivered() == [BODY.encode()]


def test_a_transaction_that_is_given_up_is_kept() -> None:
    transactions = Transactions(OpenedBroker())
    transactions.prepare(BODY.encode())
    lower_the_limit(transactions.broker)
    transactions.broker.pass_time(16 * 35)
    assert transactions.given_up() == [BODY.encode()]


def test_a_new_message_is_refused() -> None:
    broker = waiting()
    answer = broker.ask(RequestCode.SEND_MESSAGE_V2, message("T"), BODY.encode())
    assert answer.code == ResponseCode.MESSAGE_ILLEGAL
