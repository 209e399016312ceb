"""Which names topics and groups may have: RocketMQ's rules, and its words for those that break one.

The characters also keep a name a single folder of the store, and the files' `topic@group` clear.
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
    """Why no topic may have this name."""
    if not topic.strip():
        return "The specified topic is blank."
    if _LEGAL.fullmatch(topic) is None:
        return f"The specified topic contains illegal characters, allowing only {_LEGAL_TEXT}"
    # Groups of any name may retry and give up; their topics have the group's name in them.
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
    """Why no group may have this name."""
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
