"""Topics by what their names mean: those of groups, and those no client may send to."""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.names import DLQ_PREFIX, RETRY_PREFIX
from gantrymq.broker.core.system_topics import HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC

# What clients name as the one to inherit from, where they want no other.
AUTO_CREATE_TOPIC: Final = "TBW102"

# Java lets clients write into the last one, and its timers then stumble over what they find.
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
    """Where a group gets messages again that it could not consume."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """Where messages end that a group could not consume at all."""
    return DLQ_PREFIX + group
