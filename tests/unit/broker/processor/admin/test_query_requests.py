"""Messages by id, key and time; figures of queues."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.processor.admin.query_requests import UNITS_MAX
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.fakes.brokers.broker import START_MS, FakeChannel, OpenedBroker
from gantrymq.fakes.stores.store import message
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.consume_queue import ConsumeQueueBody
from gantrymq.wire.bodies.heartbeat import ConsumerData, SubscriptionData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import (
    GetEarliestMsgStoretimeRequest,
    GetMaxOffsetRequest,
    GetMinOffsetRequest,
    SearchOffsetRequest,
)
from gantrymq.wire.headers.query import (
    QueryConsumeQueueRequest,
    QueryMessageRequest,
    ViewMessageRequest,
)
from gantrymq.wire.message import tags
from gantrymq.wire.message.record import decode


@pytest.fixture
def broker() -> OpenedBroker:
    """Messages 0 to 4 in queue 0 of topic T, a second apart."""
    broker = OpenedBroker()
    for number in range(5):
        put(broker, number)
        broker.pass_time(1.0)
    return broker


def put(broker: OpenedBroker, *numbers: int) -> None:
    for number in numbers:
        broker.state.task_runner.start(tasks.put(message(number)), lambda _: None, lambda _: None)
    broker.settle()


def offset(answer: Command) -> int:
    assert (answer.code, list(answer.ext or ())) == (ResponseCode.SUCCESS, ["offset"])
    return int((answer.ext or {})["offset"])


def by_key(key: str, *, count: int = 64, is_unique: bool = False) -> QueryMessageRequest:
    return QueryMessageRequest(
        topic="T",
        key=key,
        max_num=count,
        begin_timestamp=0,
        end_timestamp=(1 << 63) - 1,
        unique_key_query=is_unique,
    )


def queue(index: int, count: int, group: str | None = None) -> QueryConsumeQueueRequest:
    return QueryConsumeQueueRequest(
        topic="T", queue_id=0, index=index, count=count, consumer_group=group
    )


# ---------------------------------------------------------------------- messages


def test_a_message_is_found_by_its_place(broker: OpenedBroker) -> None:
    record = broker.opened.records("T", 0)[3]
    answer = broker.ask(
        RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequest(offset=record.physical_offset)
    )
    assert answer.code == ResponseCode.SUCCESS
    assert decode(answer.body) == record


@pytest.mark.parametrize("place", [7, 1 << 40, -1, (1 << 63) - 1])
def test_no_message_begins_there(broker: OpenedBroker, place: int) -> None:
    answer = broker.ask(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequest(offset=place))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith(f"can not find message by the offset, {place}")


def test_messages_are_found_by_key(broker: OpenedBroker) -> None:
    answer = broker.ask(RequestCode.QUERY_MESSAGE, by_key("k2"))
    assert decode(answer.body).body == b"body 2"
    ext = answer.ext or {}
    assert ext["indexLastUpdateTimestamp"] == str(START_MS + 4000)
    assert int(ext["indexLastUpdatePhyoffset"]) == broker.opened.records("T", 0)[4].physical_offset


def test_a_unique_key_does_not_ask_for_a_count(broker: OpenedBroker) -> None:
    answer = broker.ask(RequestCode.QUERY_MESSAGE, by_key("U1", count=0, is_unique=True))
    assert decode(answer.body).body == b"body 1"


def test_key_that_no_message_has_is_not_found(broker: OpenedBroker) -> None:
    answer = broker.ask(RequestCode.QUERY_MESSAGE, by_key("nobody's", count=-5))
    assert answer.code == ResponseCode.QUERY_NOT_FOUND
    assert answer.remark == "can not find message, maybe time range not correct"
    assert "indexLastUpdatePhyoffset" in (answer.ext or {})


# ---------------------------------------------------------------------- queues


def test_a_queue_has_bounds(broker: OpenedBroker) -> None:
    asked = GetMaxOffsetRequest(topic="T", queue_id=0, committed=True)
    assert offset(broker.ask(RequestCode.GET_MAX_OFFSET, asked)) == 5
    least = GetMinOffsetRequest(topic="T", queue_id=0)
    assert offset(broker.ask(RequestCode.GET_MIN_OFFSET, least)) == 0


def test_queue_without_messages_is_empty(broker: OpenedBroker) -> None:
    for topic, queue_id in (("T", 1), ("none", 0), ("T", -1)):
        most = GetMaxOffsetRequest(topic=topic, queue_id=queue_id)
        assert offset(broker.ask(RequestCode.GET_MAX_OFFSET, most)) == 0
        least = GetMinOffsetRequest(topic=topic, queue_id=queue_id)
        assert offset(broker.ask(RequestCode.GET_MIN_OFFSET, least)) == 0
        earliest = GetEarliestMsgStoretimeRequest(topic=topic, queue_id=queue_id)
        answer = broker.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, earliest)
        assert answer.ext == {"timestamp": "-1"}


def test_the_oldest_message_has_a_time(broker: OpenedBroker) -> None:
    asked = GetEarliestMsgStoretimeRequest(topic="T", queue_id=0)
    answer = broker.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, asked)
    assert answer.ext == {"timestamp": str(START_MS)}


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [(None, 3), ("LOWER", 3), ("lower", 3), ("upper", 2), ("UPPER", 2), ("nonsense", 3)],
)
def test_an_offset_is_found_by_time(
    broker: OpenedBroker, boundary: str | None, expected: int
) -> None:
    asked = SearchOffsetRequest(
        topic="T", queue_id=0, timestamp=START_MS + 2_500, boundary_type=boundary
    )
    assert offset(broker.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, asked)) == expected


def units(answer: Command) -> ConsumeQueueBody:
    assert answer.code == ResponseCode.SUCCESS
    return ConsumeQueueBody.from_json(javajson.loads(answer.body))


def test_units_are_shown_as_they_are_stored(broker: OpenedBroker) -> None:
    body = units(broker.ask(RequestCode.QUERY_CONSUME_QUEUE, queue(1, 3)))
    records = broker.opened.records("T", 0)
    assert [unit.physical_offset for unit in body.units] == [
        record.physical_offset for record in records[1:4]
    ]
    assert (body.minimum, body.maximum, body.filter_data) == (0, 5, None)


def test_units_show_whether_the_filter_of_an_online_group_matches(broker: OpenedBroker) -> None:
    body = units(broker.ask(RequestCode.QUERY_CONSUME_QUEUE, queue(0, 1, "G")))
    assert body.filter_data == "G@T is not online!"
    for sub_string, passes in (("*", True), ("A", True), ("B", False)):
        _subscribe(broker, sub_string)
        body = units(broker.ask(RequestCode.QUERY_CONSUME_QUEUE, queue(0, 1, "G")))
        assert body.filter_data == "null"
        assert body.subscription is not None
        assert [unit.evaluates for unit in body.units] == [passes]


def test_query_of_missing_units_says_so(broker: OpenedBroker) -> None:
    for index in (5, -1, 1 << 60):
        answer = broker.ask(RequestCode.QUERY_CONSUME_QUEUE, queue(index, 3))
        assert answer.code == ResponseCode.SUCCESS
        assert (answer.remark or "").startswith(f"Index {index} of 0@T is not exist!")
    asked = QueryConsumeQueueRequest(topic="none")
    answer = broker.ask(RequestCode.QUERY_CONSUME_QUEUE, asked)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "0@none is not exist!"


def test_query_gets_at_most_as_many_units_as_a_pull_reads() -> None:
    broker = OpenedBroker()
    put(broker, *range(UNITS_MAX + 1))
    asked = queue(0, (1 << 31) - 1)
    assert len(units(broker.ask(RequestCode.QUERY_CONSUME_QUEUE, asked)).units) == UNITS_MAX
    assert not units(broker.ask(RequestCode.QUERY_CONSUME_QUEUE, queue(0, -1))).units


def _subscribe(broker: OpenedBroker, sub_string: str) -> None:
    codes = () if sub_string == "*" else (tags.tags_code(sub_string),)
    subscription = SubscriptionData(
        topic="T", sub_string=sub_string, codes=codes, sub_version=len(sub_string)
    )
    data = ConsumerData(group_name="G", subscriptions=(subscription,))
    client = Client(FakeChannel(), f"c-{sub_string}", 0, 0, 0.0, 0)
    broker.state.clients.consumers.pop("G", None)
    broker.state.clients.add_consumer(data, client)
