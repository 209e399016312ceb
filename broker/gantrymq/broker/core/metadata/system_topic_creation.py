"""Creates the broker's own topics and groups where they are missing.

A topic in the file keeps its configuration.
"""

from __future__ import annotations

from dataclasses import replace

from gantrymq.broker.core.names.system_topics import (
    DEFAULT_TOPIC,
    SYSTEM_GROUPS,
    made_at_start,
)
from gantrymq.broker.core.state import State
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import Permission


def make_missing(state: State) -> None:
    """Create the missing topics and groups; called after the files are loaded."""
    for config in made_at_start(state):
        if state.topics.find(config.topic_name) is None:
            state.topics.put(config, state.wall_ms)
    for group in SYSTEM_GROUPS:
        if state.groups.find(group) is None:
            state.groups.put(GroupConfig(group_name=group), state.wall_ms)
    default = state.topics.find(DEFAULT_TOPIC)
    if default is not None:
        perm = default.perm & ~Permission.INHERIT
        if state.settings.auto_create_topic_enable:
            perm |= Permission.INHERIT
        state.topics.put(replace(default, perm=perm), state.wall_ms)
