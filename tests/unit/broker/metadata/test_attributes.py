"""Attributes, and changes to them."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.metadata.attributes import (
    CHANGES_MAX,
    GROUP_ATTRIBUTES,
    TOPIC_ATTRIBUTES,
    altered,
    parse_changes,
)


def changed(current: dict[str, str] | None, text: str) -> dict[str, str]:
    return altered(TOPIC_ATTRIBUTES, current, parse_changes(text))


def test_attributes_are_added_changed_and_removed() -> None:
    assert changed(None, "+message.type=FIFO") == {"message.type": "FIFO"}
    assert changed({"message.type": "FIFO"}, "+message.type=DELAY,+reserve.time=5") == {
        "message.type": "DELAY",
        "reserve.time": "5",
    }
    assert changed({"message.type": "FIFO"}, "-message.type,") == {}
    assert changed({"message.type": "FIFO"}, "") == {"message.type": "FIFO"}


@pytest.mark.parametrize(
    ("current", "text", "words"),
    [
        (None, "message.type=FIFO", "add/alter attribute format is wrong: message.type"),
        (None, "message", "delete attribute format is wrong: message"),
        (None, "+a=1,+a=2", "key duplication"),
        ({}, "+reserve.time=1,-reserve.time", "alter duplication key"),
        (None, "-message.type", "only add attribute is supported while creating topic"),
        ({}, "-message.type", "attempt to delete a nonexistent key: message.type"),
        (None, "+color=red", "unsupported key: color"),
        ({}, "+queue.type=SimpleCQ", "attempt to update an unchangeable attribute"),
        (None, "+message.type=LOUD", "value is not in set: ["),
        (None, "+queue.type=BatchCQ", "no batch consume queues"),
        (None, "+cleanup.policy=COMPACTION", "does not compact"),
        (None, "+reserve.time=-2", "value is not in range(-1, 9223372036854775807)"),
        (None, "+reserve.time=soon", "not a long"),
        (None, "+=1", "kv string format wrong"),
        ({}, "a+b=1", "kv string format wrong"),
        (None, "+a=1," * (CHANGES_MAX + 1), "at most"),
    ],
)
def test_changes_that_are_refused(current: dict[str, str] | None, text: str, words: str) -> None:
    with pytest.raises(RemoteError) as refused:
        changed(current, text)
    assert words in str(refused.value)


def test_groups_have_no_attributes() -> None:
    with pytest.raises(RemoteError, match="unsupported key: a"):
        altered(GROUP_ATTRIBUTES, None, {"+a": "1"})
