"""Names the topics and groups that belong to the broker.

The names are RocketMQ's. Clients ask for the routes of the cluster's and of the broker's name, so
these are topics too.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.context import Context
from gantrymq.wire.bodies.shared import Permission, TopicConfig

DEFAULT_TOPIC: Final = "TBW102"
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
CHECK_MAX_TIME_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
OFFSET_MOVED_TOPIC: Final = "OFFSET_MOVED_EVENT"
CHECKPOINT_TOPIC: Final = "CHECKPOINT_TOPIC"

PREFIX: Final = "rmq_sys_"
TIMER_TOPIC: Final = f"{PREFIX}wheel_timer"

TRANSACTION_GROUP: Final = "CID_RMQ_SYS_TRANS"
# The refusal to move these offsets: a transaction before them would never be checked or decided.
TRANSACTIONS_OWN: Final = (
    f"the offsets of {TRANSACTION_GROUP} say which transactions may be open: the broker alone"
    " moves them"
)
SYSTEM_GROUPS: Final = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
    TRANSACTION_GROUP,
)

_NAMES: Final = frozenset(
    {
        DEFAULT_TOPIC,
        SCHEDULE_TOPIC,
        BENCHMARK_TOPIC,
        HALF_TOPIC,
        TRACE_TOPIC,
        OP_TOPIC,
        CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_TOPIC,
        CHECKPOINT_TOPIC,
    }
)

# Numbers of queues.
_BENCHMARK_QUEUES: Final = 1024
_CLUSTER_QUEUES: Final = 16
_REVIVE_QUEUES: Final = 8
_SCHEDULE_QUEUES: Final = 18

_PLAIN: Final = Permission.READ | Permission.WRITE


def is_system_topic(topic: str) -> bool:
    """Whether this is a system topic for every broker, whatever its names are."""
    return topic in _NAMES or topic.startswith(PREFIX)


def is_guarded(context: Context, topic: str) -> bool:
    """Whether only this broker creates, changes or removes the topic."""
    return is_system_topic(topic) or topic in own_topics(context)


def system_topics(context: Context) -> list[str]:
    """All guarded topics, including those that do not exist."""
    return sorted({*_NAMES, *(config.topic_name for config in made_at_start(context))})


def own_topics(context: Context) -> tuple[str, ...]:
    """The topics that are named after the broker, or by its settings."""
    identity, settings = context.identity, context.settings
    own = (identity.cluster, identity.name, f"{identity.cluster}_REPLY_TOPIC")
    return (*own, settings.msg_trace_topic_name) if settings.trace_topic_enable else own


def made_at_start(context: Context) -> list[TopicConfig]:
    """The topics that RocketMQ 5.3 creates; 4.9 creates those of transactions at their first
    use."""
    identity, settings = context.identity, context.settings
    default = settings.default_topic_queue_nums
    inherited = _PLAIN | Permission.INHERIT
    made = [
        _topic(SELF_TEST_TOPIC),
        _topic(BENCHMARK_TOPIC, _BENCHMARK_QUEUES),
        _topic(
            identity.cluster,
            _CLUSTER_QUEUES,
            inherited if settings.cluster_topic_enable else Permission.INHERIT,
        ),
        _topic(identity.name, 1, inherited if settings.broker_topic_enable else Permission.INHERIT),
        _topic(OFFSET_MOVED_TOPIC),
        _topic(SCHEDULE_TOPIC, _SCHEDULE_QUEUES),
        _topic(f"{identity.cluster}_REPLY_TOPIC"),
        _topic(f"{PREFIX}REVIVE_LOG_{identity.cluster}", _REVIVE_QUEUES),
        _topic(f"{PREFIX}SYNC_BROKER_MEMBER_{identity.name}", 1, Permission.INHERIT),
        _topic(HALF_TOPIC),
        _topic(OP_TOPIC),
    ]
    if settings.auto_create_topic_enable:
        made.append(_topic(DEFAULT_TOPIC, default, inherited))
    if settings.trace_topic_enable:
        made.append(_topic(settings.msg_trace_topic_name))
    if settings.timer_wheel_enable:
        made.append(_topic(TIMER_TOPIC))
    return made


def _topic(name: str, queues: int = 1, perm: int = _PLAIN) -> TopicConfig:
    return TopicConfig(name, read_queue_nums=queues, write_queue_nums=queues, perm=int(perm))
