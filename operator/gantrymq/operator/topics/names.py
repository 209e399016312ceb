"""Decides which topic names a Topic may have, and which belong to brokers and consumer groups."""

from __future__ import annotations

from typing import Final

from gantrymq.operator.resources.names import SYSTEM_TOPIC_PREFIX, SYSTEM_TOPICS

GROUP_PREFIXES: Final = ("%RETRY%", "%DLQ%")


def topic_fault(topic: str) -> str:
    """Return why no Topic may have a name that the schema allows; empty if it may."""
    if topic.startswith(GROUP_PREFIXES):
        return f"topicName {topic!r} belongs to a consumer group; brokers make such topics"
    return ""


def is_system_topic(topic: str) -> bool:
    """Whether it is a system topic that every broker has, whatever its cluster is called."""
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_TOPIC_PREFIX)


def is_reported(topic: str, cluster: str) -> bool:
    """Whether a person or a producer created a topic without a resource."""
    own = (cluster, f"{cluster}_REPLY_TOPIC")
    return not (topic.startswith(GROUP_PREFIXES) or topic in own or is_system_topic(topic))
