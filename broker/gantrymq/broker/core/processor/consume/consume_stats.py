"""Computes the consumer lag of groups by queue, whether their consumers are online or not.

A group consumes a topic if it has an offset in it. While members are online, only the topics that
they subscribe to count, as in RocketMQ: messages of topics they left are no lag.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gantrymq.broker.core.processor.consume.queue_figures import (
    Tally,
    consumed_offset,
    queues_of,
    topic_offset,
)
from gantrymq.broker.core.state import State
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.wire.bodies.consuming import queue_stats


def consumed_topics(state: State, group: str, topics: Iterable[str]) -> list[str]:
    """The topics among these that the group consumes."""
    members = state.clients.consumers.get(group)
    if members is None or not members.subscriptions:
        return list(topics)
    return [topic for topic in topics if topic in members.subscriptions]


def subscribers(state: State, topic: str) -> list[str]:
    """The groups that consume the topic, by their members' subscriptions or by their offsets."""
    online = (
        name for name, group in state.clients.consumers.items() if topic in group.subscriptions
    )
    return list(dict.fromkeys([*online, *state.offsets.groups_of(topic)]))


# ---------------------------------------------------------------------- readings


def topic_entries(state: State, topic: str, queues: int) -> ReadTask[Sequence[bytes] | None]:
    """The entries of a TopicStatsTable; None if they are too long for an answer."""
    tally = Tally()
    entries: list[bytes] = []
    for queue in queues_of(state, topic, queues):
        offset = yield from topic_offset(state.store, queue)
        entries.append(queue_stats.entry(queue, offset))
        if tally.add(entries[-1]):
            yield None
    return None if tally.is_too_long else entries


def group_entries(
    state: State, group: str, topics: Iterable[str]
) -> ReadTask[Sequence[bytes] | None]:
    """The entries of ConsumeStats; None if they are too long for an answer."""
    tally = Tally()
    entries: list[bytes] = []
    for topic in topics:
        config = state.topics.find(topic)
        queues = 0 if config is None else config.read_queue_nums
        entries += yield from _consumed_entries(state, group, topic, queues, tally)
        if tally.is_too_long:
            return None
    return entries


def all_groups(state: State, *, is_order: bool) -> ReadTask[bytes | None]:
    """A ConsumeStatsList of every group in each of its topics, or with `is_order` in its ordered
    topics; None if it is too long for an answer."""
    tally, groups = Tally(), []
    for group in list(state.groups.all):
        stats = []
        for topic in consumed_topics(state, group, state.offsets.topics_of(group)):
            config = state.topics.find(topic)
            if config is None or (is_order and not config.order):
                continue
            entries = yield from _consumed_entries(
                state, group, topic, config.write_queue_nums, tally
            )
            stats.append(queue_stats.consume_stats(entries, state.stats.consume_tps(group, topic)))
            if tally.is_too_long:
                return None
        groups.append(queue_stats.group_stats(group, stats))
    return queue_stats.consume_stats_list(
        state.identity.address, groups, tally.diff, tally.inflight_diff
    )


def _consumed_entries(
    state: State, group: str, topic: str, queues: int, tally: Tally
) -> ReadTask[Sequence[bytes]]:
    entries: list[bytes] = []
    for queue in queues_of(state, topic, queues):
        if tally.is_too_long:
            break
        offset = max(0, state.offsets.find(group, topic, queue.queue_id) or 0)
        pulled = state.offsets.pulled(group, topic, queue.queue_id) or 0
        consumed = yield from consumed_offset(state.store, queue, offset, pulled)
        tally.count(consumed)
        entries.append(queue_stats.entry(queue, consumed))
        if tally.add(entries[-1]):
            yield None
    return entries
