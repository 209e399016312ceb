"""What the answers to bulk pulls mean."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.client.bulk import QueueRef
from gantrymq.client.bulk.pull_exchange import Found, at, is_passing, read, request
from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.group.subscriptions import Sql, subscription
from gantrymq.wire import hosts
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.message.record import Record, encode

QUEUE = QueueRef("T", "broker-a", 3)
HOST = hosts.parse("10.1.2.3:54321")


def messages(offset: int) -> bytes:
    return encode(Record(b"T", b"x", queue_offset=offset, born_host=HOST, store_host=HOST))


def answer(code: int, following: int, low: int = 0, high: int = 100, body: bytes = b"") -> Command:
    ext = {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": str(following),
        "minOffset": str(low),
        "maxOffset": str(high),
    }
    return Command(code, ext=ext, body=body)


def test_request_brings_its_filter_and_is_marked() -> None:
    ext = at(request(QUEUE, "g", None, 1 << 20), 7, 50).ext or {}
    wanted = {
        "consumerGroup": "g",
        "topic": "T",
        "queueId": "3",
        "queueOffset": "7",
        "maxMsgNums": "50",
        "maxMsgBytes": "1048576",
        "sysFlag": "4",
        "subscription": "*",
        "expressionType": "TAG",
        "bulk": "true",
        "bname": "broker-a",
    }
    assert {name: ext[name] for name in wanted} == wanted


def test_request_by_an_expression_says_so() -> None:
    ext = request(QUEUE, "g", subscription("T", Sql("a > 3"), 1), 1)
    assert (ext["subscription"], ext["expressionType"]) == ("a > 3", "SQL92")


@pytest.mark.parametrize(
    ("said", "is_filtered", "found"),
    [
        (answer(ResponseCode.SUCCESS, 9, body=messages(5)), False, Found.MESSAGES),
        (answer(ResponseCode.SUCCESS, 9, body=messages(6)), False, Found.GONE),
        (answer(ResponseCode.SUCCESS, 9, body=messages(6)), True, Found.MESSAGES),
        (answer(ResponseCode.PULL_RETRY_IMMEDIATELY, 9), True, Found.NOTHING_MATCHES),
        (answer(ResponseCode.PULL_RETRY_IMMEDIATELY, 9), False, Found.GONE),
        (answer(ResponseCode.PULL_RETRY_IMMEDIATELY, 5), False, Found.AGAIN),
        (answer(ResponseCode.PULL_OFFSET_MOVED, 8, low=8), False, Found.GONE),
        (answer(ResponseCode.PULL_OFFSET_MOVED, 3, high=3), False, Found.NOT_YET),
        (answer(ResponseCode.PULL_NOT_FOUND, 5, high=5), False, Found.NOT_YET),
        (answer(ResponseCode.PULL_NOT_FOUND, 0, high=0), False, Found.NOT_YET),
        # The group's offset was reset: a read of its own range does not follow.
        (answer(ResponseCode.PULL_OFFSET_MOVED, 50), False, Found.AGAIN),
    ],
)
def test_answers_to_a_pull_of_message_5(said: Command, is_filtered: bool, found: Found) -> None:
    assert read(said, "b:1", 5, is_filtered=is_filtered).found is found


def test_answer_says_where_the_messages_begin_that_are_left() -> None:
    pulled = read(
        answer(ResponseCode.SUCCESS, 20, low=0, body=messages(12)), "b:1", 5, is_filtered=False
    )
    assert pulled.minimum == 12


@pytest.mark.parametrize(
    "said",
    [
        answer(ResponseCode.SUCCESS, 5, body=messages(5)),
        answer(ResponseCode.SUCCESS, 9, body=messages(4)),
        answer(ResponseCode.SUCCESS, 9, body=b"short"),
        Command(ResponseCode.SUCCESS, ext={}),
    ],
)
def test_impossible_responses_are_refused(said: Command) -> None:
    with pytest.raises(RemoteError):
        read(said, "b:1", 5, is_filtered=False)


def test_refusals_are_told_in_the_brokers_words() -> None:
    with pytest.raises(BrokerError, match="no such group") as refused:
        read(Command(26, remark="no such group"), "b:1", 5, is_filtered=False)
    assert not is_passing(refused.value)
    assert is_passing(BrokerError(ResponseCode.GO_AWAY, "", "b:1"))
