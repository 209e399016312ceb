"""Detects members of a consumer group that subscribe differently or share a client id.

Each RocketMQ client divides a group's queues by client id on its own. It assumes that all members
have different ids and the same subscriptions. Otherwise some members miss messages, or messages are
delivered twice.

    conflict                                                  lasts until
    members have different subscriptions                      all have the same
    two processes with one client id send heartbeats          only one process has the id

One process may have several connections: it may reach the master by the group's address and by the
master's own, and a broken connection stays until it is detected. That is no conflict. The
heartbeats of Java's old pull consumers do not tell one process from another, so their conflicts are
not detected.

Invariant: a conflict is logged and counted once when it arises, and kept while it lasts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.broker.core.messages import Effects
from gantrymq.broker.core.tables.consumer_group import Client, ConsumerGroup, Wants

# Limit of the conflicts kept. Further ones are neither logged nor counted.
CONFLICTS_MAX: Final = 1_000

# The number of each member's subscriptions that a text shows.
WANTS_SHOWN_MAX: Final = 5

# The number of characters of an expression that a text shows.
CHARACTERS_SHOWN_MAX: Final = 100


class Kind(Enum):
    """The kind of a conflict between members of a group."""

    SUBSCRIPTIONS = "subscriptions"
    CLIENT_ID = "client id"


@final
@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict that lasts. `text` names the members, the consequence and the remedy."""

    kind: Kind
    group: str
    client_id: str
    """The shared client id; empty for other conflicts."""
    since_ms: int
    text: str


Key = tuple[Kind, str, str]


@final
class Conflicts:
    """The conflicts on one broker. The callers report heartbeats and lost members."""

    __slots__ = ("_effects", "_lasting", "arisen")

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self._lasting: dict[Key, Conflict] = {}
        self.arisen: dict[Kind, int] = dict.fromkeys(Kind, 0)
        """The number of conflicts since the broker's start."""

    @property
    def lasting(self) -> Collection[Conflict]:
        return self._lasting.values()

    def heard(self, group: ConsumerGroup, client: Client, wall_ms: int) -> None:
        """The client sent a heartbeat for the group, and is its member."""
        self._compare_subscriptions(group, client, wall_ms)
        rival = group.rival_of(client)
        if rival is not None:
            key = (Kind.CLIENT_ID, group.name, client.client_id)
            if key not in self._lasting:
                self._arises(key, _two_processes(group, client, rival), wall_ms)

    def left(self, name: str, group: ConsumerGroup | None) -> None:
        """The group lost members; `group` is None if it has none any more."""
        if not self._lasting:
            return
        for key, conflict in list(self._lasting.items()):
            if conflict.group == name and (group is None or not _lasts(group, conflict)):
                self._ends(key)

    def _compare_subscriptions(self, group: ConsumerGroup, client: Client, wall_ms: int) -> None:
        key = (Kind.SUBSCRIPTIONS, group.name, "")
        if not group.disagrees:
            if key in self._lasting:
                self._ends(key)
        elif key not in self._lasting:
            self._arises(key, _two_subscriptions(group, client), wall_ms)

    def _arises(self, key: Key, text: str, wall_ms: int) -> None:
        kind, group, client_id = key
        if len(self._lasting) < CONFLICTS_MAX:
            self._lasting[key] = Conflict(kind, group, client_id, wall_ms, text)
            self.arisen[kind] += 1
            self._effects.warning(text)

    def _ends(self, key: Key) -> None:
        conflict = self._lasting.pop(key)
        about = f" {conflict.client_id}" if conflict.client_id else ""
        self._effects.info(
            f"the conflict of {conflict.kind.value}{about} in group {conflict.group} is over"
        )


def _lasts(group: ConsumerGroup, conflict: Conflict) -> bool:
    if conflict.kind is Kind.SUBSCRIPTIONS:
        return group.disagrees
    return group.is_shared(conflict.client_id)


def _two_subscriptions(group: ConsumerGroup, client: Client) -> str:
    subscriptions = [(each, group.wants_of(each)) for each in (client, *group.clients.values())]
    said = [(each, wants) for each, wants in subscriptions if wants is not None]
    one, wants = said[0]
    other, other_wants = next(each for each in said if each[1] != wants)
    return (
        f"members of group {group.name} do not subscribe alike:"
        f" {_shown(one)} wants {_listed(wants, other_wants)},"
        f" {_shown(other)} wants {_listed(other_wants, wants)};"
        " a group's members share its queues, so each is given messages that it drops and the"
        " others never see: give each subscription a group of its own, or all members the same one"
    )


def _listed(wants: Wants, others: Wants) -> str:
    """The subscriptions of this member that the other does not have."""
    different = sorted(wants - others)
    shown = [
        f"{_clipped(topic)} by {_clipped(kind)} {_clipped(text)!r}"
        for topic, kind, text in different[:WANTS_SHOWN_MAX]
    ]
    if len(different) > WANTS_SHOWN_MAX:
        shown.append("more")
    return " and ".join(shown) or "nothing else"


def _clipped(text: str) -> str:
    if len(text) <= CHARACTERS_SHOWN_MAX:
        return text
    return text[: CHARACTERS_SHOWN_MAX - 1] + "…"


def _two_processes(group: ConsumerGroup, one: Client, other: Client) -> str:
    return (
        f"client id {one.client_id} in group {group.name} is used by {one.channel.peer} and by"
        f" {other.channel.peer}; queues are shared out by client id, so both read the same ones and"
        " messages come twice: give each process an instanceName of its own, or leave it DEFAULT"
    )


def _shown(client: Client) -> str:
    return f"{client.client_id} at {client.channel.peer}"
