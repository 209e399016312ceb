"""The topics' attribute `reserve.time`: for how many hours consumers find what was stored.

    reserve.time=24     what is older is hidden from them, though the log may still have it
    -1, 0, absent       as long as the log has it

The unit is that of RocketMQ's tiered store, the only one of its stores where the attribute has an
effect; its plain one refuses it. What the broker itself reads through topics - delayed messages,
half messages, what POP has to revive - is never hidden, whatever their topics say.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.attributes import RESERVE_TIME
from gantrymq.broker.core.state import State
from gantrymq.broker.core.system_topics import is_system_topic
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.header_fields import parse_int64

_HOUR_MS: Final = 3_600_000


def begin(state: State) -> None:
    """Tell the store of every topic, and of each change from now on."""

    def keep(topic: str, config: TopicConfig | None) -> None:
        if config is None or is_system_topic(topic):
            state.store.keep_topic(topic, None)
        else:
            state.store.keep_topic(topic, age_ms(config))

    state.topics.listen(keep)


def age_ms(config: TopicConfig) -> int | None:
    """How old a message of the topic may be; None: as old as the log."""
    try:
        hours = parse_int64(config.attributes.get(RESERVE_TIME, "-1"))
    except ValueError:  # a file from elsewhere: hiding nothing loses nothing
        return None
    return hours * _HOUR_MS if hours > 0 else None
