"""Validates topic and group names by RocketMQ's rules, with RocketMQ's error texts.

The allowed characters also guarantee that a name is a single directory name in the store, and that
the `topic@group` keys in the configuration files are unambiguous.
"""

from __future__ import annotations

import re
from typing import Final

RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"

TOPIC_CHARACTERS_MAX: Final = 127
GROUP_CHARACTERS_MAX: Final = 255

_LEGAL: Final = re.compile(r"[%|a-zA-Z0-9_-]+")
_LEGAL_TEXT: Final = "^[%|a-zA-Z0-9_-]+$"


def topic_fault(topic: str) -> str | None:
    """Return why the topic name is invalid, or None when it is valid."""
    if not topic.strip():
        return "The specified topic is blank."
    if _LEGAL.fullmatch(topic) is None:
        return f"The specified topic contains illegal characters, allowing only {_LEGAL_TEXT}"
    # The retry and dead letter topics of a group contain the group's name, which may be longer than
    # a topic's.
    longest = TOPIC_CHARACTERS_MAX
    if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        longest = GROUP_CHARACTERS_MAX
    if len(topic) > longest:
        return (
            "The specified topic is longer than topic max length."
            f" It has {len(topic)} characters, {longest} are allowed."
        )
    return None


def group_fault(group: str) -> str | None:
    """Return why the group name is invalid, or None when it is valid."""
    if not group.strip():
        return "the specified group is blank"
    if len(group) > GROUP_CHARACTERS_MAX:
        return (
            f"the specified group is longer than group max length {GROUP_CHARACTERS_MAX}."
            f" It has {len(group)} characters."
        )
    if _LEGAL.fullmatch(group) is None:
        return (
            f"the specified group[{group}] contains illegal characters, allowing only {_LEGAL_TEXT}"
        )
    return None
