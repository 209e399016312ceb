"""Handles requests about consumption: progress of topics and groups, their lag, and subscribers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Reply, Request
from gantrymq.broker.core.processor.consume.consume_stats import (
    all_groups,
    consumed_topics,
    group_entries,
    subscribers,
    topic_entries,
)
from gantrymq.broker.core.processor.consume.queue_figures import (
    Tally,
    queues_of,
    time_span,
    too_long,
)
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming import queue_stats
from gantrymq.wire.bodies.consuming.consumption import (
    GroupList,
    QuerySubscriptionBody,
)
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

# ---------------------------------------------------------------------- figures


def topic_stats(state: State, request: Request) -> Outcome | Task[Outcome]:
    topic = GetTopicStatsRequest.decode(request.command.ext).topic
    config = state.topics.find(topic)
    if config is None:
        return _no_topic(topic)
    return _topic_stats(state, topic, max(config.read_queue_nums, config.write_queue_nums))


def _topic_stats(state: State, topic: str, queues: int) -> Task[Outcome]:
    entries = yield from tasks.read(topic_entries(state, topic, queues))
    if entries is None:
        return too_long("make the topic smaller with mqadmin updateTopic")
    return done(body=queue_stats.topic_stats(entries, state.stats.put_tps(topic)))


def consume_stats(state: State, request: Request) -> Outcome | Task[Outcome]:
    """Answers with a group's progress in the topics of a list, whether or not the group subscribes
    to them; in one topic; or in all topics that the group consumes."""
    header = GetConsumeStatsRequest.decode(request.command.ext)
    group = header.consumer_group
    listed = [topic for topic in (header.topic_list or "").split(";") if topic]
    named = (header.topic or "").strip()
    topics = listed or consumed_topics(
        state, group, [named] if named else state.offsets.topics_of(group)
    )
    return _consume_stats(state, group, list(dict.fromkeys(topics)))


def _consume_stats(state: State, group: str, topics: Sequence[str]) -> Task[Outcome]:
    entries = yield from tasks.read(group_entries(state, group, topics))
    if entries is None:
        return too_long("ask topic by topic, mqadmin consumerProgress -t")
    tps = sum(state.stats.consume_tps(group, topic) for topic in topics)
    return done(body=queue_stats.consume_stats(entries, float(tps)))


def broker_consume_stats(state: State, request: Request) -> Task[Outcome]:
    is_order = GetBrokerConsumeStatsRequest.decode(request.command.ext).is_order
    body = yield from tasks.read(all_groups(state, is_order=is_order))
    return (
        too_long("ask group by group, mqadmin consumerProgress -g")
        if body is None
        else done(body=body)
    )


def consume_time_span(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = QueryConsumeTimeSpanRequest.decode(request.command.ext)
    config = state.topics.find(header.topic)
    if config is None:
        return _no_topic(header.topic)
    return _consume_time_span(state, header, config.write_queue_nums)


def _consume_time_span(
    state: State, header: QueryConsumeTimeSpanRequest, queues: int
) -> Task[Outcome]:
    spans = yield from tasks.read(_time_spans(state, header.group, header.topic, queues))
    if spans is None:
        return too_long("make the topic smaller with mqadmin updateTopic")
    return done(body=b'{"consumeTimeSpanSet":[%b]}' % b",".join(spans))


def _time_spans(
    state: State, group: str, topic: str, queues: int
) -> ReadTask[Sequence[bytes] | None]:
    """The entries of a QueryConsumeTimeSpanBody; None if they are too long for an answer."""
    tally = Tally()
    spans: list[bytes] = []
    for queue in queues_of(state, topic, queues):
        offset = state.offsets.find(group, topic, queue.queue_id)
        span = yield from time_span(state.store, queue, offset, state.wall_ms)
        spans.append(javajson.dumps_fastjson(span.to_json()))
        if tally.add(spans[-1]):
            yield None
    return None if tally.is_too_long else spans


def _no_topic(topic: str) -> Reply:
    return refused(
        ResponseCode.TOPIC_NOT_EXIST,
        f"topic[{topic}] not exist; mqadmin topicRoute -t {topic} shows which broker has it",
    )


# ---------------------------------------------------------------------- subscriptions


def groups_of_topic(state: State, request: Request) -> Outcome:
    topic = QueryTopicConsumeByWhoRequest.decode(request.command.ext).topic
    return done_json(GroupList(tuple(subscribers(state, topic))).to_json())


def topics_of_group(state: State, request: Request) -> Outcome:
    group = QueryTopicsByConsumerRequest.decode(request.command.ext).group
    topics = state.offsets.topics_of(group)
    return done_json(TopicList(tuple(topics), state.identity.address).to_json())


def subscription_of_group(state: State, request: Request) -> Outcome:
    header = QuerySubscriptionByConsumerRequest.decode(request.command.ext)
    members = state.clients.consumers.get(header.group)
    wanted = None if members is None else members.subscriptions.get(header.topic or "")
    return done_json(QuerySubscriptionBody(header.group, header.topic, wanted).to_json())


HANDLERS: Final[Handlers] = {
    RequestCode.GET_TOPIC_STATS_INFO: topic_stats,
    RequestCode.GET_CONSUME_STATS: consume_stats,
    RequestCode.GET_BROKER_CONSUME_STATS: broker_consume_stats,
    RequestCode.QUERY_CONSUME_TIME_SPAN: consume_time_span,
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: groups_of_topic,
    RequestCode.QUERY_TOPICS_BY_CONSUMER: topics_of_group,
    RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: subscription_of_group,
}
