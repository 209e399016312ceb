"""Removes consumer groups that consumers created and do not use.

A group is unused while it has no members, no offsets, no in-flight messages, no settings of an
administrator, no dead-letter topic, and never had a message in its retry topic. A group that sent a
message back is kept, for the message may be due only in hours. A pull that names a group leaves an
unused group behind. Removing it loses nothing: the next consumer that names it creates
it again.

    not used for autoCreatedGroupExpireHours    removed
    the limit of groups is reached              the least recently used of them are removed to make
                                                room for new ones

So groups that anonymous pulls create do not keep other consumers out. Groups that an administrator
created or changed are never removed. While only administrators may create groups, none is removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.messages import Channel, Register
from gantrymq.broker.core.names.topic_names import dead_letter_topic, retry_topic
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.groups import UNKNOWN

# Between two scans for groups that expire.
SCAN_SECONDS: Final = 60.0
# Removing so many takes 10 ms. The rest is removed in further scans, REST_SECONDS apart.
SCAN_GROUPS: Final = 2_000
REST_SECONDS: Final = 1.0

# A scan of 20 000 groups takes 20 ms. It removes so many groups that its cost is shared by as many
# new ones.
ROOM_GROUPS: Final = 1_000
# The pause after a scan that found fewer.
ROOM_SECONDS: Final = 1.0

HOUR_SECONDS: Final = 3600


@final
class GroupExpiry:
    """The periodic service of one broker that removes groups that expire."""

    __slots__ = ("_scan_at", "_state")

    def __init__(self, state: State) -> None:
        self._state = state
        self._scan_at = state.now + SCAN_SECONDS

    # ------------------------------------------------------------------ the service

    def deadline(self) -> float:
        return self._scan_at if self._state.groups.auto_created else NEVER

    def expire(self, now: float) -> None:
        if now < self._scan_at:
            return
        self._scan_at = now + SCAN_SECONDS
        state = self._state
        hours = state.settings.auto_created_group_expire_hours
        if not hours or not _may_remove(state):
            return
        long_ago = now - hours * HOUR_SECONDS
        used = state.groups.auto_created.items()
        found = [(group, at) for group, at in used if at == UNKNOWN or at <= long_ago]
        if len(found) > SCAN_GROUPS:
            self._scan_at = now + REST_SECONDS
        removed = []
        for group, used_at in found[:SCAN_GROUPS]:
            if used_at == UNKNOWN or not is_unused(state, group):
                state.groups.used(group, now)  # its time until removal begins now
            else:
                removed.append(group)
        _remove(state, removed, f"unused for {hours} h, autoCreatedGroupExpireHours")

    def closed(self, channel: Channel) -> None:
        """Connections do not matter here."""


def make_room(state: State) -> None:
    """Remove up to ROOM_GROUPS unused groups, least recently used first."""
    if state.now < state.groups.next_removal or not _may_remove(state):
        return
    used = state.groups.auto_created
    unused = (group for group in used if is_unused(state, group))
    removed = nsmallest(ROOM_GROUPS, unused, key=used.__getitem__)
    if len(removed) < ROOM_GROUPS:
        state.groups.next_removal = state.now + ROOM_SECONDS
    _remove(state, removed, "new groups need their place")


def _may_remove(state: State) -> bool:
    """Whether consumers can create removed groups again. Slaves copy their master's groups."""
    return state.serves and state.settings.auto_create_subscription_group


def _remove(state: State, groups: Iterable[str], reason: str) -> None:
    removed, topics = [], []
    for group in groups:
        state.groups.remove(group, state.wall_ms)
        removed.append(group)
        topic = retry_topic(group)
        if state.topics.remove(topic, state.wall_ms):
            state.topics.unsaved.discard(topic)
            topics.append(topic)
    if removed:
        state.effects.info(
            f"removed unused subscription groups count={len(removed)} first={removed[0]}"
            f" topics={len(topics)} reason={reason}"
        )
    if topics:
        state.effects.add(Register())


def is_unused(state: State, group: str) -> bool:
    """Whether nothing but pulls may have named this group."""
    return not (
        state.offsets.has_group(group)
        or group in state.clients.consumers
        or state.in_flight.has_group(group)
        or state.groups.is_forbidden_any(group)
        or state.topics.find(dead_letter_topic(group)) is not None
        or _had_retries(state, group)
    )


def _had_retries(state: State, group: str) -> bool:
    """Whether there was ever a message in the group's retry topic."""
    name = retry_topic(group)
    return state.topics.find(name) is not None and bool(state.store.queues.queue_ids(name))
