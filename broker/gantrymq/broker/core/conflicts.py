"""What members of a consumer group must not do, and do: subscribe differently, or share a client
id. RocketMQ's clients share a group's queues out by client id, each on its own, believing that all
members are different and want the same. Otherwise messages are lost for some, or delivered twice.

    members want different things             until all want the same
    two processes with one client id speak    until only one has the id

One process may have several connections: it reaches a master by the group's address and by its
own, and what broke unnoticed is there for a while. That is no conflict. Java's old pull consumers
say nothing that tells one process from another, so theirs are not seen.

Invariant: a conflict is said once when it arises, counted, and kept while it lasts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.broker.core.clients import Client, ConsumerGroup, Wants
from gantrymq.broker.core.messages import Effects

# Each is kept as text, and nobody reads so many: those beyond are neither said nor counted.
CONFLICTS_MAX: Final = 1_000

# Of each member's topics, in a text.
WANTS_SHOWN_MAX: Final = 5

# Of an expression.
CHARACTERS_SHOWN_MAX: Final = 100


class Kind(Enum):
    """What members of a group do wrong."""

    SUBSCRIPTIONS = "subscriptions"
    CLIENT_ID = "client id"


@final
@dataclass(frozen=True, slots=True)
class Conflict:
    """One that lasts. `text` says who, what comes of it, and what to do."""

    kind: Kind
    group: str
    client_id: str
    """Of a conflict about one; else empty."""
    since_ms: int
    text: str


Key = tuple[Kind, str, str]


@final
class Conflicts:
    """Of one broker. The owner says which groups were heard of and which lost members."""

    __slots__ = ("_effects", "_lasting", "arisen")

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self._lasting: dict[Key, Conflict] = {}
        self.arisen: dict[Kind, int] = dict.fromkeys(Kind, 0)
        """How many there were since the start."""

    @property
    def lasting(self) -> Collection[Conflict]:
        return self._lasting.values()

    def heard(self, group: ConsumerGroup, client: Client, wall_ms: int) -> None:
        """The client is in the group, and has just spoken."""
        self._compare_subscriptions(group, client, wall_ms)
        rival = group.rival_of(client)
        if rival is not None:
            key = (Kind.CLIENT_ID, group.name, client.client_id)
            if key not in self._lasting:
                self._arises(key, _two_processes(group, client, rival), wall_ms)

    def left(self, name: str, group: ConsumerGroup | None) -> None:
        """It lost members; None when it has none any more."""
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
            self._arises(key, _two_wishes(group, client), wall_ms)

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


def _two_wishes(group: ConsumerGroup, client: Client) -> str:
    wishes = [(each, group.wants_of(each)) for each in (client, *group.clients.values())]
    said = [(each, wants) for each, wants in wishes if wants is not None]
    one, wants = said[0]
    other, other_wants = next(wish for wish in said if wish[1] != wants)
    return (
        f"members of group {group.name} do not subscribe alike:"
        f" {_shown(one)} wants {_listed(wants, other_wants)},"
        f" {_shown(other)} wants {_listed(other_wants, wants)};"
        " a group's members share its queues, so each is given messages that it drops and the"
        " others never see: give each subscription a group of its own, or all members the same one"
    )


def _listed(wants: Wants, others: Wants) -> str:
    """What only this side wants."""
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
