"""Applies the topic attribute `reserve.time`: for how many hours consumers see a stored message.

    reserve.time=24     older messages are hidden, though the log may still have them
    -1, 0, absent       visible as long as the log has them

The unit is that of RocketMQ's tiered store, the only one of its stores where the attribute has an
effect; its plain store refuses the attribute. Topics that the broker itself reads (delayed
messages, half messages, POP's revive messages) are never hidden, whatever their attributes say.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.metadata.attributes import RESERVE_TIME
from gantrymq.broker.core.names.system_topics import is_system_topic
from gantrymq.broker.core.state import State
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.header_fields import parse_int64

_HOUR_MS: Final = 3_600_000


def begin(state: State) -> None:
    """Report the retention of every topic to the store, now and at each change."""

    def keep(topic: str, config: TopicConfig | None) -> None:
        if config is None or is_system_topic(topic):
            state.store.keep_topic(topic, None)
        else:
            state.store.keep_topic(topic, age_ms(config))

    state.topics.listen(keep)


def age_ms(config: TopicConfig) -> int | None:
    """The maximum age in ms of a visible message; None: as old as the log."""
    try:
        hours = parse_int64(config.attributes.get(RESERVE_TIME, "-1"))
    except ValueError:  # a file from elsewhere: hiding nothing loses nothing
        return None
    return hours * _HOUR_MS if hours > 0 else None
