"""What is put: known from its number alone, so that a check that finds a message can judge it.

A put is one message or a batch of one queue. Its number says in which life of the store it was
made; everything else is drawn from it.
"""

from __future__ import annotations

import random
from typing import Final, TypeAlias

from gantrymq.wire.message.record import Record

PUTS_A_LIFE_MAX: Final = 1_000_000
TOPICS: Final = 4
QUEUES_A_TOPIC: Final = 3
HOST: Final = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"

Queue: TypeAlias = tuple[str, int]
"""Topic and queue id."""

QUEUES: Final[tuple[Queue, ...]] = tuple(
    (f"Topic{topic}", queue_id) for topic in range(TOPICS) for queue_id in range(QUEUES_A_TOPIC)
)


def first_put(life: int) -> int:
    """The number of the first put of a life, which are counted from 1 on."""
    return life * PUTS_A_LIFE_MAX


def life_of(put: int) -> int:
    return put // PUTS_A_LIFE_MAX


def queue_of(put: int) -> Queue:
    return random.Random(put).choice(QUEUES)


def waits(put: int) -> bool:
    """Whether the sender waits for the disk, where there is a choice."""
    return put % 10 != 0


def messages_of(put: int) -> list[Record]:
    """The messages of a put, fresh, behind each other."""
    chance = random.Random(put)
    topic, queue_id = chance.choice(QUEUES)
    count = 1 if chance.random() < 0.8 else chance.randrange(2, 7)
    return [
        Record(
            topic.encode(),
            b"%d/%d:" % (put, part) + chance.randbytes(_filling_bytes(chance)),
            properties=b"TAGS\x01T%d\x02KEYS\x01%s\x02UNIQ_KEY\x01U%s\x02"
            % (put % 7, key_of(put, part).encode(), key_of(put, part).encode()),
            queue_id=queue_id,
            born_host=HOST,
            store_host=HOST,
        )
        for part in range(count)
    ]


def key_of(put: int, part: int) -> str:
    return f"K{put}-{part}"


def number_of(body: bytes) -> tuple[int, int] | None:
    """Which put, and which part of it, this body claims to be."""
    put, slash, part = body.partition(b":")[0].partition(b"/")
    if not slash or not put.isdigit() or not part.isdigit():
        return None
    return int(put), int(part)


def _filling_bytes(chance: random.Random) -> int:
    """Mostly little; now and then more than a page, and more than many sectors."""
    drawn = chance.random()
    if drawn < 0.95:
        return chance.randrange(400)
    return chance.randrange(6000) if drawn < 0.995 else 40_000
