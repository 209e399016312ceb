"""Maps names to and from a namespace, so that tenants of one cluster can use the same names.

    topic, group     ns%name
    retry, dead      %RETRY%ns%group, %DLQ%ns%group

Namespaces exist only in clients: a client wraps names in requests and unwraps names for the user.
System topics and groups of the brokers are shared and stay unchanged, as do names that are wrapped
already.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gantrymq.wire.bodies.shared import MessageQueue

SEPARATOR: Final = "%"
RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"

TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
DEFAULT_TOPIC: Final = "TBW102"

_SYSTEM_TOPICS: Final = frozenset(
    {
        DEFAULT_TOPIC,
        TRACE_TOPIC,
        "SCHEDULE_TOPIC_XXXX",
        "BenchmarkTest",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
        "CHECKPOINT_TOPIC",
    }
)
_SYSTEM_PREFIXES: Final = ("rmq_sys_", "CID_RMQ_SYS_")

NOT_FOR_CLIENTS: Final = _SYSTEM_TOPICS - {DEFAULT_TOPIC, TRACE_TOPIC, "BenchmarkTest"}
"""Topics to which clients must not send."""


def wrap(namespace: str, name: str) -> str:
    """Return a topic or group name as servers know it."""
    if not namespace or not name or is_system(name):
        return name
    prefix, own = _split(name)
    if own.startswith(namespace + SEPARATOR):
        return name
    return f"{prefix}{namespace}{SEPARATOR}{own}"


def wrapped_queue(namespace: str, queue: MessageQueue) -> MessageQueue:
    """Return the queue with its topic as servers know it."""
    if not namespace:
        return queue
    return replace(queue, topic=wrap(namespace, queue.topic))


def unwrap(namespace: str, name: str) -> str:
    """Return a topic or group name as users know it."""
    if not namespace:
        return name
    prefix, own = _split(name)
    return prefix + own.removeprefix(namespace + SEPARATOR)


def is_system(name: str) -> bool:
    """Tell whether it is a system topic or group of the brokers."""
    return name in _SYSTEM_TOPICS or name.startswith(_SYSTEM_PREFIXES)


def retry_topic(group: str) -> str:
    """Return the topic through which a group (wrapped or not) gets failed messages again."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """Return the dead letter topic of a group (wrapped or not)."""
    return DLQ_PREFIX + group


def _split(name: str) -> tuple[str, str]:
    """Split off the retry or dead letter prefix, if there is one."""
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if name.startswith(prefix):
            return prefix, name[len(prefix) :]
    return "", name
