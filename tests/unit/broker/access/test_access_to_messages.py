"""Tests that a request that names a message by its position needs a right to that message."""

from __future__ import annotations

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.transaction.transactions import GIVEN_UP_TOPIC
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.transactions import COMMIT, GROUP, HOST, TOPIC, Half, Transactions
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.headers.client import ConsumeMessageDirectlyRequest
from gantrymq.wire.headers.query import ViewMessageRequest
from gantrymq.wire.headers.send import ConsumerSendMsgBackRequest
from gantrymq.wire.headers.transaction import (
    EndTransactionRequest,
    ResumeCheckHalfMessageRequest,
)
from gantrymq.wire.message import offset_id, properties
from gantrymq.wire.message.property_names import REAL_QUEUE_ID, REAL_TOPIC
from gantrymq.wire.message.record import Record

REFUSED = "org.apache.rocketmq.acl.common.AclException: No default permission for "
RULES = plain_acl.read(b"""\
accounts:
- {accessKey: nothing, secretKey: 12345678, groupPerms: [G=SUB]}
- {accessKey: sends-it, secretKey: 12345678, topicPerms: [Payments=PUB], groupPerms: [G=SUB]}
- {accessKey: takes-it, secretKey: 12345678, topicPerms: [Payments=SUB], groupPerms: [G=SUB]}
- {accessKey: the-admin, secretKey: 12345678, admin: true}
""")
READERS = {"takes-it", "the-admin"}
SENDERS = {"sends-it", "the-admin"}


@pytest.fixture
def transactions() -> Transactions:
    broker = OpenedBroker(BrokerSettings(acl_enable=True))
    broker.state.access.replace(RULES)
    broker.settle()
    return Transactions(broker)


def stored(transactions: Transactions, topic: str, **named: str) -> Half:
    held = properties.encode(named)
    return transactions.store(
        Record(topic.encode(), b"pay", properties=held, born_host=HOST, store_host=HOST)
    )


def ask(transactions: Transactions, key: str, code: RequestCode, header: Header) -> Command:
    command = signed(Command(code, ext=header.encode()), Credentials(key, "12345678"))
    return transactions.broker.ask(code, ext=command.ext)


def let_in(transactions: Transactions, code: RequestCode, header: Header) -> set[str]:
    """The accounts that the guard let in."""
    answers = {key: ask(transactions, key, code, header) for key in RULES.accounts}
    return {key for key, each in answers.items() if not (each.remark or "").startswith(REFUSED)}


@pytest.mark.parametrize(
    ("topic", "named"),
    [
        (TOPIC, {}),
        ("SCHEDULE_TOPIC_XXXX", {REAL_TOPIC: TOPIC, REAL_QUEUE_ID: "0"}),
        ("rmq_sys_wheel_timer", {REAL_TOPIC: TOPIC, REAL_QUEUE_ID: "0"}),
        ("RMQ_SYS_TRANS_HALF_TOPIC", {REAL_TOPIC: TOPIC, REAL_QUEUE_ID: "0"}),
    ],
)
def test_message_is_shown_to_accounts_that_may_consume_it(
    transactions: Transactions, topic: str, named: dict[str, str]
) -> None:
    place = stored(transactions, topic, **named)
    header = ViewMessageRequest(offset=place.position)
    assert let_in(transactions, RequestCode.VIEW_MESSAGE_BY_ID, header) == READERS


def test_properties_of_a_message_give_no_account_a_right(
    transactions: Transactions,
) -> None:
    place = stored(transactions, "Secret", **{REAL_TOPIC: TOPIC})
    header = ViewMessageRequest(offset=place.position)
    assert let_in(transactions, RequestCode.VIEW_MESSAGE_BY_ID, header) == {"the-admin"}


def test_send_back_needs_the_right_to_consume_the_message(transactions: Transactions) -> None:
    place = stored(transactions, TOPIC)
    header = ConsumerSendMsgBackRequest(offset=place.position, group="G", delay_level=-1)
    assert let_in(transactions, RequestCode.CONSUMER_SEND_MSG_BACK, header) == READERS
    assert len(transactions.broker.bodies("%DLQ%G")) == len(READERS)


def test_a_group_sends_back_what_it_had_again(transactions: Transactions) -> None:
    place = stored(transactions, "%RETRY%G")
    header = ConsumerSendMsgBackRequest(offset=place.position, group="G", delay_level=-1)
    all_accounts = set(RULES.accounts)
    assert let_in(transactions, RequestCode.CONSUMER_SEND_MSG_BACK, header) == all_accounts


def test_direct_consumption_needs_the_right_to_consume_the_message(
    transactions: Transactions,
) -> None:
    place = stored(transactions, TOPIC)
    header = ConsumeMessageDirectlyRequest(
        consumer_group="G", client_id="c", msg_id=offset_id.encode(HOST, place.position)
    )
    assert let_in(transactions, RequestCode.CONSUME_MESSAGE_DIRECTLY, header) == READERS


def test_end_of_a_transaction_needs_the_right_to_send_its_message(
    transactions: Transactions,
) -> None:
    half = transactions.prepare(b"pay")
    header = EndTransactionRequest(
        producer_group=GROUP,
        tran_state_table_offset=half.number,
        commit_log_offset=half.position,
        commit_or_rollback=COMMIT,
        msg_id="",
    )
    for key, code in (("takes-it", ResponseCode.SYSTEM_ERROR), ("sends-it", ResponseCode.SUCCESS)):
        assert ask(transactions, key, RequestCode.END_TRANSACTION, header).code == code
    assert transactions.delivered() == [b"pay"]


def test_resumed_check_needs_the_right_to_send_the_message(
    transactions: Transactions,
) -> None:
    place = stored(transactions, GIVEN_UP_TOPIC, **{REAL_TOPIC: TOPIC, REAL_QUEUE_ID: "0"})
    header = ResumeCheckHalfMessageRequest(msg_id=offset_id.encode(HOST, place.position))
    assert let_in(transactions, RequestCode.RESUME_CHECK_HALF_MESSAGE, header) == SENDERS
