"""Namespaces: tenants of one cluster use the same names without meeting.

    topic, group     ns%name
    retry, dead      %RETRY%ns%group, %DLQ%ns%group

Only clients know of them: what they send is wrapped, what they hand to users is unwrapped. Brokers'
own topics and groups belong to all, and stay as they are; so does what is wrapped already.
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
"""Topics that no client sends to."""


def wrap(namespace: str, name: str) -> str:
    """A topic or group as servers know it."""
    if not namespace or not name or is_system(name):
        return name
    prefix, own = _split(name)
    if own.startswith(namespace + SEPARATOR):
        return name
    return f"{prefix}{namespace}{SEPARATOR}{own}"


def wrapped_queue(namespace: str, queue: MessageQueue) -> MessageQueue:
    """As servers know it."""
    if not namespace:
        return queue
    return replace(queue, topic=wrap(namespace, queue.topic))


def unwrap(namespace: str, name: str) -> str:
    """A topic or group as users know it."""
    if not namespace:
        return name
    prefix, own = _split(name)
    return prefix + own.removeprefix(namespace + SEPARATOR)


def is_system(name: str) -> bool:
    """Whether it is a topic or group of the brokers."""
    return name in _SYSTEM_TOPICS or name.startswith(_SYSTEM_PREFIXES)


def retry_topic(group: str) -> str:
    """Where a group, wrapped or not, gets messages again that it could not consume."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """Where messages end that a group, wrapped or not, could not consume at all."""
    return DLQ_PREFIX + group


def _split(name: str) -> tuple[str, str]:
    """What the name is for, and the name it is about."""
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if name.startswith(prefix):
            return prefix, name[len(prefix) :]
    return "", name
