"""Tests figures of topics and groups, and lists of the groups of a topic."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.processor.consume import queue_figures
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.stores.store import message
from gantrymq.wire.bodies.consuming.consumption import (
    GroupList,
    QueryConsumeTimeSpanBody,
    QuerySubscriptionBody,
)
from gantrymq.wire.bodies.consuming.queue_stats import (
    ConsumedOffset,
    ConsumeStats,
    ConsumeStatsList,
    TopicOffset,
    TopicStatsTable,
)
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.heartbeat import ConsumerData, SubscriptionData
from gantrymq.wire.bodies.shared import MessageQueue, TopicConfig
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.group import (
    GetBrokerConsumeStatsRequest,
    GetConsumeStatsRequest,
    QueryConsumeTimeSpanRequest,
    QuerySubscriptionByConsumerRequest,
    QueryTopicsByConsumerRequest,
)
from gantrymq.wire.headers.topic import GetTopicStatsRequest, QueryTopicConsumeByWhoRequest
from gantrymq.wire.javajson import loads

# A message is stored each second, from the first second on.
SECOND_MS = 1000


def failed(error: Exception) -> None:
    raise error


def opened(messages: int = 5, *, queues: int = 2) -> OpenedBroker:
    broker = OpenedBroker()
    broker.state.topics.put(TopicConfig("T", queues, queues), 1)
    broker.state.groups.put(GroupConfig(group_name="g"), 1)
    for number in range(messages):
        broker.pass_time(1.0)
        broker.state.task_runner.start(tasks.put(message(number)), lambda _: None, failed)
        broker.settle()
    return broker


def queue(queue_id: int, topic: str = "T") -> MessageQueue:
    return MessageQueue(topic, "broker-a", queue_id)


def stored_ms(broker: OpenedBroker, offset: int) -> int:
    return broker.wall_ms - (4 - offset) * SECOND_MS


def consume_stats(
    broker: OpenedBroker, topic: str | None = None, topic_list: str | None = None
) -> ConsumeStats:
    header = GetConsumeStatsRequest(consumer_group="g", topic=topic, topic_list=topic_list)
    return ConsumeStats.from_json(loads(broker.ask(RequestCode.GET_CONSUME_STATS, header).body))


def all_stats(broker: OpenedBroker, *, is_order: bool = False) -> ConsumeStatsList:
    header = GetBrokerConsumeStatsRequest(is_order=is_order)
    answer = broker.ask(RequestCode.GET_BROKER_CONSUME_STATS, header)
    return ConsumeStatsList.from_json(loads(answer.body))


def subscribe(broker: OpenedBroker, *topics: str) -> None:
    client = Client(broker.channel, "c", 0, 479, broker.now, broker.wall_ms)
    subscriptions = tuple(SubscriptionData(topic=topic) for topic in topics)
    data = ConsumerData(group_name="g", subscriptions=subscriptions)
    broker.state.clients.add_consumer(data, client)


def test_topic_statistics_list_the_queues() -> None:
    broker = opened()
    answer = broker.ask(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsRequest(topic="T"))
    assert TopicStatsTable.from_json(loads(answer.body)).queues == {
        queue(0): TopicOffset(0, 5, broker.wall_ms),
        queue(1): TopicOffset(0, 0, 0),
    }


def test_a_topic_that_is_not_there_has_no_figures() -> None:
    broker = OpenedBroker()
    for code, header in (
        (RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsRequest(topic="T")),
        (
            RequestCode.QUERY_CONSUME_TIME_SPAN,
            QueryConsumeTimeSpanRequest(topic="T", group="g"),
        ),
    ):
        answer = broker.ask(code, header)
        assert answer.code == ResponseCode.TOPIC_NOT_EXIST
        assert (answer.remark or "").startswith("topic[T] not exist")


def test_a_group_that_is_offline_has_its_lag() -> None:
    broker = opened()
    broker.state.offsets.commit("g", "T", 0, 3)
    broker.state.offsets.note_pull("g", "T", 0, 4)
    assert consume_stats(broker).queues == {
        queue(0): ConsumedOffset(5, 3, 4, stored_ms(broker, 2)),
        queue(1): ConsumedOffset(0, 0, 0, 0),
    }


def test_while_members_are_online_only_their_topics_count() -> None:
    broker = opened()
    broker.state.topics.put(TopicConfig("U", 1, 1), 1)
    for topic in ("T", "U"):
        broker.state.offsets.commit("g", topic, 0, 0)
    subscribe(broker, "U")
    assert set(consume_stats(broker).queues) == {queue(0, "U")}
    assert set(consume_stats(broker, "T").queues) == set()
    assert set(consume_stats(broker, topic_list="T;none").queues) == {queue(0), queue(1)}


def test_unknown_group_has_empty_figures() -> None:
    assert consume_stats(OpenedBroker()) == ConsumeStats()


def test_consume_statistics_of_all_groups_have_their_lag() -> None:
    broker = opened()
    state = broker.state
    state.topics.put(TopicConfig("O", 1, 1, order=True), 1)
    state.offsets.commit("g", "T", 0, 3)
    state.offsets.note_pull("g", "T", 0, 4)
    state.offsets.commit("g", "O", 0, 0)
    told = all_stats(broker)
    stats = dict(told.groups)
    assert stats.keys() == state.groups.all.keys()
    assert [list(each.queues) for each in stats["g"]] == [[queue(0), queue(1)], [queue(0, "O")]]
    assert (told.broker_address, told.total_diff, told.total_inflight_diff) == (
        state.identity.address,
        2,
        1,
    )
    ordered = dict(all_stats(broker, is_order=True).groups)
    assert [list(each.queues) for each in ordered["g"]] == [[queue(0, "O")]]


def test_many_queues_let_others_go_first() -> None:
    broker = opened(queues=1000)
    broker.state.offsets.commit("g", "T", 0, 3)
    header = GetConsumeStatsRequest(consumer_group="g")
    request = broker.send(RequestCode.GET_CONSUME_STATS, header)
    answer = broker.answer(request)
    assert answer is not None
    assert len(ConsumeStats.from_json(loads(answer.body)).queues) == 1000


def test_statistics_that_no_frame_can_carry_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_figures, "ENTRIES_BYTES_MAX", 150)
    broker = opened()
    broker.state.offsets.commit("g", "T", 0, 3)
    for code, header in (
        (RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsRequest(topic="T")),
        (RequestCode.GET_CONSUME_STATS, GetConsumeStatsRequest(consumer_group="g")),
        (RequestCode.GET_BROKER_CONSUME_STATS, GetBrokerConsumeStatsRequest(is_order=False)),
    ):
        answer = broker.ask(code, header)
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert "no frame can carry it" in (answer.remark or "")


def spans(broker: OpenedBroker) -> QueryConsumeTimeSpanBody:
    header = QueryConsumeTimeSpanRequest(topic="T", group="g")
    answer = broker.ask(RequestCode.QUERY_CONSUME_TIME_SPAN, header)
    return QueryConsumeTimeSpanBody.from_json(loads(answer.body))


def test_time_spans_of_queues_are_returned() -> None:
    broker = opened()
    first, last = stored_ms(broker, 0), stored_ms(broker, 4)
    broker.state.offsets.commit("g", "T", 0, 3)
    broker.pass_time(1.0)
    busy, empty = spans(broker).spans
    assert (busy.min_ms, busy.max_ms, busy.consume_ms) == (first, last, first + 2 * SECOND_MS)
    assert busy.delay_ms == 2 * SECOND_MS
    assert (empty.min_ms, empty.max_ms, empty.consume_ms, empty.delay_ms) == (-1, -1, -1, 0)


def test_a_group_that_never_consumed_waits_since_the_first_message() -> None:
    broker = opened()
    assert spans(broker).spans[0].delay_ms == 4 * SECOND_MS
    broker.state.offsets.commit("g", "T", 0, 5)
    assert spans(broker).spans[0].delay_ms == 0


def test_groups_of_a_topic_are_found_by_offsets_and_by_subscriptions() -> None:
    broker = opened()
    subscribe(broker, "T")
    broker.state.offsets.commit("h", "T", 0, 0)
    broker.state.offsets.commit("g", "T", 0, 0)
    broker.state.offsets.commit("i", "U", 0, 0)
    header = QueryTopicConsumeByWhoRequest(topic="T")
    answer = broker.ask(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
    assert GroupList.from_json(loads(answer.body)).groups == ("g", "h")


def test_topics_and_subscriptions_of_a_group_are_returned() -> None:
    broker = opened()
    subscribe(broker, "T")
    broker.state.offsets.commit("g", "T", 0, 0)
    answer = broker.ask(
        RequestCode.QUERY_TOPICS_BY_CONSUMER, QueryTopicsByConsumerRequest(group="g")
    )
    topics = TopicList.from_json(loads(answer.body))
    assert (topics.topics, topics.broker_address) == (("T",), broker.state.identity.address)
    for topic, wanted in (("T", SubscriptionData(topic="T")), ("U", None)):
        header = QuerySubscriptionByConsumerRequest(group="g", topic=topic)
        answer = broker.ask(RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, header)
        said = QuerySubscriptionBody.from_json(loads(answer.body))
        assert said == QuerySubscriptionBody("g", topic, wanted)
