"""Creates topics on demand: for sends, and for a group's retries and dead letters.

    the send names a default topic, mostly TBW102, whose settings may be inherited
    queues = the smaller of what the producer wants and what the default topic has

Invariants. No message is acknowledged before its topic is persistent and known to the name servers,
so that a consumer that starts then finds it. See `safe`. Sends create TOPICS_MAX topics at most.
Groups, which are limited too, have two more each, and an administrator may create more.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import File, Register, Spread
from gantrymq.broker.core.metadata import table_changes
from gantrymq.broker.core.names.topic_names import (
    AUTO_CREATE_TOPIC,
    dead_letter_topic,
    retry_topic,
)
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.table_memory import TOPIC_BYTES
from gantrymq.wire.bodies.shared import Permission, TopicConfig

# Each change rewrites the whole file of the topics, and a registration names them all.
TOPICS_MAX: Final = 50_000

# The bits of `topic_sys_flag` for topics of units.
UNIT: Final = 1
UNIT_SUBSCRIBED: Final = 2

_READ_WRITE: Final = Permission.READ | Permission.WRITE


def create_by_send(
    state: State, topic: str, default_topic: str, queues: int, sys_flag: int, peer: str
) -> TopicConfig | str:
    """Create a topic for a message; return it, or why it is not created."""
    obstacle = _obstacle(state, default_topic, queues)
    if obstacle is not None:
        return obstacle
    default = state.topics.all[default_topic]
    count = min(queues, default.write_queue_nums)
    config = TopicConfig(
        topic,
        read_queue_nums=count,
        write_queue_nums=count,
        perm=default.perm & ~Permission.INHERIT,
        topic_filter_type=default.topic_filter_type,
        topic_sys_flag=sys_flag,
    )
    state.effects.info(
        f"Create new topic by default topic:[{default_topic}] config:[{config}] producer:[{peer}]"
    )
    state.effects.add(Spread(config))
    return _created(state, config)


def create_retry_topic(
    state: State, group: str, queues: int, *, is_order: bool = False, sys_flag: int = 0
) -> TopicConfig:
    """Return the group's retry topic, and create it if it does not exist."""
    return _ensured(
        state,
        TopicConfig(
            retry_topic(group),
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=_READ_WRITE,
            order=is_order,
            topic_sys_flag=sys_flag,
        ),
    )


def create_dead_letter_topic(state: State, group: str) -> TopicConfig:
    """Return the group's dead letter topic, and create it if it does not exist."""
    return _ensured(
        state,
        TopicConfig(
            dead_letter_topic(group), read_queue_nums=1, write_queue_nums=1, perm=_READ_WRITE
        ),
    )


def create_pop_retry_topic(state: State, topic: str) -> TopicConfig:
    """Return a group's retry topic for pops of one topic, and create it if it does not exist."""
    return _ensured(
        state, TopicConfig(topic, read_queue_nums=1, write_queue_nums=1, perm=_READ_WRITE)
    )


def has_room(state: State) -> bool:
    """Whether a send may create one more topic."""
    return len(state.topics) < TOPICS_MAX


def has_queues(state: State, more: int) -> bool:
    """Whether the topics may have so many more queues."""
    return state.topics.queue_count + more <= state.settings.max_queues_of_topics


def no_queues(state: State, more: int) -> str:
    """The error text for too many queues."""
    bound = state.settings.max_queues_of_topics
    return (
        f"the topics of this broker have {state.topics.queue_count} queues, {more} more would be"
        f" beyond maxQueuesOfTopics={bound}; delete topics with mqadmin deleteTopic, or raise the"
        f" bound with mqadmin updateBrokerConfig -b {state.identity.address} -k maxQueuesOfTopics"
        " -v NUMBER"
    )


def safe(state: State, topic: str) -> Task[str | None]:
    """Wait until the topic is persistent; return why a crash could lose it, or None.

    The name servers know the topic when this returns.
    """
    if topic not in state.topics.unsaved:
        return None
    failure = yield from table_changes.stored(state, File.TOPICS)
    yield from tasks.told()
    if failure is None and topic in state.topics.unsaved:
        state.topics.saved(topic)
    return failure


def _ensured(state: State, wanted: TopicConfig) -> TopicConfig:
    known = state.topics.find(wanted.topic_name)
    if known is not None:
        return known
    state.effects.info(f"create new topic {wanted}")
    return _created(state, wanted)


def _created(state: State, config: TopicConfig) -> TopicConfig:
    state.topics.unsaved.add(config.topic_name)
    state.topics.put(config, state.wall_ms)
    state.effects.add(Register((config.topic_name,)))
    return config


def _obstacle(state: State, default_topic: str, queues: int) -> str | None:
    """Why no topic can be created from this default topic, else None."""
    if not has_room(state):
        return f"messages create {TOPICS_MAX} topics at most, there are {len(state.topics)}"
    if default_topic == AUTO_CREATE_TOPIC and not state.settings.auto_create_topic_enable:
        return "autoCreateTopicEnable is false"
    default = state.topics.find(default_topic)
    if default is None:
        return f"neither is the default topic {default_topic} that the producer names"
    if not default.perm & Permission.INHERIT:
        return f"the default topic {default_topic} may not be inherited, its perm is {default.perm}"
    if min(queues, default.write_queue_nums) < 1:
        return (
            f"a topic needs a queue: the producer's defaultTopicQueueNums is {queues},"
            f" {default_topic} has {default.write_queue_nums}"
        )
    count = min(queues, default.write_queue_nums)
    if not has_queues(state, count):
        return no_queues(state, count)
    return state.table_memory.obstacle(TOPIC_BYTES)
