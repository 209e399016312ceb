"""Layouts: the same key, or number, leads to the same queue."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.client.bulk.layout import Layout
from gantrymq.wire.bodies.shared import MessageQueue

QUEUES = [MessageQueue("T", name, number) for name in ("a", "b") for number in range(3)]
LAYOUT = Layout("T", QUEUES)


def test_a_note_gives_the_same_layout() -> None:
    assert Layout.decode("T", LAYOUT.encode()) == LAYOUT


@pytest.mark.parametrize("note", [b"", b"[]", b'{"v": 1}', b'{"q": {"a": ["x"]}}'])
def test_an_invalid_note_is_an_error(note: bytes) -> None:
    with pytest.raises(RemoteError, match="no layout"):
        Layout.decode("T", note)


def test_keys_are_spread_and_stay() -> None:
    found = {key: LAYOUT.by_key(b"%d" % key) for key in range(100)}
    assert set(found.values()) == set(QUEUES)
    again = Layout.decode("T", LAYOUT.encode())
    assert {key: again.by_key(b"%d" % key) for key in range(100)} == found


def test_a_queue_is_found_by_its_number_and_broker() -> None:
    assert LAYOUT.find(1) == MessageQueue("T", "a", 1)
    assert LAYOUT.find(1, "b") == MessageQueue("T", "b", 1)
    assert LAYOUT.find(3) is None
    assert LAYOUT.find(1, "c") is None
