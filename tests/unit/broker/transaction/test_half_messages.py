"""Tests the list of half messages that wait for a decision, and decisions by administrators."""

from gantrymq.broker.core.transaction.half_messages import (
    HalfMessage,
    Page,
    open_half_messages,
    resolve,
)
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.transactions import (
    COMMIT,
    GROUP,
    HOST,
    ROLLBACK,
    TOPIC,
    Transactions,
    asked,
)
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.message import offset_id


def opened() -> Transactions:
    transactions = Transactions(OpenedBroker())
    transactions.broker.settle()
    return transactions


def shown(transactions: Transactions, first: int = 0, count: int = 1000) -> Page:
    return transactions.run(open_half_messages(transactions.broker.state, first, count))


def test_list_shows_open_half_messages() -> None:
    transactions = opened()
    transactions.end(transactions.prepare(b"done"), COMMIT)
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(2.0)
    message_id = offset_id.encode(HOST, half.position)
    assert shown(transactions) == Page(
        [HalfMessage(1, message_id, "Upay", GROUP, TOPIC, 2, 2_000, 0)], None
    )
    transactions.broker.pass_time(60.0)
    (message,) = shown(transactions).messages
    assert (message.checks, message.unique_key, message.age_ms) == (2, "Upay", 62_000)


def test_many_half_messages_are_listed_in_pages() -> None:
    transactions = opened()
    for number in range(100):
        half = transactions.prepare(b"%d" % number)
        if number % 10 == 3:
            transactions.end(half, ROLLBACK)
    found: list[int] = []
    first: int | None = 0
    while first is not None:
        page = shown(transactions, first, 40)
        assert len(page.messages) <= 40
        found += [message.number for message in page.messages]
        first = page.next
    assert found == [number for number in range(100) if number % 10 != 3]


def test_list_without_half_messages_is_an_empty_page() -> None:
    assert shown(opened()) == Page([], None)


def test_decision_of_an_administrator_is_final() -> None:
    transactions = opened()
    producer = transactions.connect()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(30.0)
    (message,) = shown(transactions).messages
    state = transactions.broker.state
    answer = transactions.run(resolve(state, message.offset_message_id, commits=True))
    assert answer.command.code == ResponseCode.SUCCESS
    assert transactions.delivered() == [b"pay"]
    assert transactions.code(half, ROLLBACK) == ResponseCode.SYSTEM_ERROR
    transactions.broker.pass_time(60.0)
    assert len(asked(producer)) == 1
    again = transactions.run(resolve(state, message.offset_message_id, commits=False))
    assert again.command.code == ResponseCode.SYSTEM_ERROR


def test_only_half_messages_are_resolved() -> None:
    transactions = opened()
    transactions.end(transactions.prepare(b"pay"), COMMIT)
    (final,) = transactions.broker.opened.records(TOPIC, 2)
    state = transactions.broker.state
    for message_id in ("nonsense", offset_id.encode(HOST, final.physical_offset)):
        answer = transactions.run(resolve(state, message_id, commits=True))
        assert answer.command.code == ResponseCode.SYSTEM_ERROR
    assert transactions.delivered() == [b"pay"]
