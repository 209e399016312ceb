"""Builds the names of groups' topics, and lists the topics that clients may not send to."""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.names.name_rules import DLQ_PREFIX, RETRY_PREFIX
from gantrymq.broker.core.names.system_topics import HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC

# The default topic that clients name where they choose no other.
AUTO_CREATE_TOPIC: Final = "TBW102"

# Java allows clients to write into the last one, and its timer service then fails on such messages.
NOT_FOR_CLIENTS: Final = frozenset(
    {
        SCHEDULE_TOPIC,
        HALF_TOPIC,
        OP_TOPIC,
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
        "rmq_sys_wheel_timer",
    }
)


def retry_topic(group: str) -> str:
    """The topic of the group's messages to consume again."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """The topic of messages that the group failed to consume."""
    return DLQ_PREFIX + group
