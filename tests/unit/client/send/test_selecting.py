"""Queues by what a message is about."""

from __future__ import annotations

import pytest

from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.selecting import Selector, by_key, hash_code, random_queue
from gantrymq.wire.bodies.shared import MessageQueue

QUEUES = [MessageQueue("T", "a", n) for n in range(7)]
MESSAGE = Message("T", b"x")


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        ("", 0),
        ("TagA", 2598919),
        (42, 42),
        (-7, -7),
        (1 << 32, 1),
        (-(1 << 40), -256),
        ("polygenelubricants", -(1 << 31)),
    ],
)
def test_hashes_are_javas(key: object, hashed: int) -> None:
    assert hash_code(key) == hashed
    assert by_key(QUEUES, MESSAGE, key).queue_id == abs(hashed) % 7


def test_a_selector_gets_the_declared_types() -> None:
    """As the type checker sees it."""

    def last(queues: list[MessageQueue], message: Message, key: str) -> MessageQueue:
        return queues[-1] if key in message.keys else queues[0]

    select: Selector = last
    assert select(QUEUES, MESSAGE, "k") is QUEUES[0]


def test_any_queue() -> None:
    assert random_queue(lambda limit: limit - 1)(QUEUES, MESSAGE, None) == QUEUES[-1]
