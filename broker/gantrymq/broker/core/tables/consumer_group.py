"""Defines the members of a group and their subscriptions, and the memory that they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias, final

from gantrymq.broker.core.messages import Channel
from gantrymq.wire.bodies.heartbeat import (
    BROADCASTING,
    EXPRESSION_TAG,
    ConsumerData,
    SubscriptionData,
)

Wants: TypeAlias = frozenset[tuple[str, str, str]]
"""The subscriptions of a member: topic, expression type and expression text of each."""

Versions: TypeAlias = frozenset[int]
"""The times in ms at which a member's process made its subscriptions. They identify the process: it
reports the same times on all its connections, and another process has other times."""

# A heartbeat is compared with the newest connections of its client id, at most so many.
COMPARED_MAX: Final = 16

# Memory of a subscription besides its texts, and of each of its tags and tag hashes.
SUBSCRIPTION_BYTES: Final = 500
ITEM_BYTES: Final = 50

# Memory of a group's member besides its subscriptions: its entries in the group's tables, and the
# tables themselves, because it may be the only member.
CONSUMER_BYTES: Final = 2000
PRODUCER_BYTES: Final = 700


@final
@dataclass(slots=True, eq=False)
class Client:
    """A member of a group: one client on one channel."""

    channel: Channel
    client_id: str
    language: int
    version: int
    heard_at: float
    heard_ms: int


@final
@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """A consumer group with at least one connected member. `Clients` owns it."""

    name: str
    consume_type: str
    message_model: str
    consume_from_where: str
    clients: dict[Channel, Client] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)
    fingerprint: int | None = None
    """The fingerprint in the last heartbeat (5.x clients); None before the first heartbeat."""
    _wants: dict[Channel, Wants] = field(default_factory=dict)
    _members: dict[Wants, int] = field(default_factory=dict)
    """How many members have each set of subscriptions."""
    _channels: dict[str, dict[Channel, None]] = field(default_factory=dict)
    """Channels by client id, oldest first."""
    _versions: dict[Channel, Versions] = field(default_factory=dict)
    _suspects: dict[str, Channel] = field(default_factory=dict)
    """By client id: the channel whose heartbeat had other versions than another connection of the
    same client id. A new or closed connection of the client id clears the entry."""

    @property
    def is_broadcasting(self) -> bool:
        return self.message_model == BROADCASTING

    @property
    def disagrees(self) -> bool:
        """Whether members have different subscriptions."""
        return len(self._members) > 1

    def client_ids(self) -> list[str]:
        """Each client id once: consumers divide the queues by client id."""
        return list(self._channels)

    def find(self, client_id: str) -> Client | None:
        """The client on its newest connection: an older one may be broken and not detected yet."""
        channels = self._channels.get(client_id)
        return None if channels is None else self.clients[next(reversed(channels))]

    def wants_of(self, client: Client) -> Wants | None:
        """The last subscriptions of the client; None if it only sent heartbeats without
        subscriptions (5.x)."""
        return self._wants.get(client.channel)

    def put(self, client: Client) -> bool:
        """Add or refresh a member. Returns whether it is new."""
        known = self.clients.get(client.channel)
        is_new = known is None or known.client_id != client.client_id
        if known is not None and is_new:
            self.remove(known.channel)
        self.clients[client.channel] = client
        if is_new:
            self._channels.setdefault(client.client_id, {})[client.channel] = None
            self._suspects.pop(client.client_id, None)
        return is_new

    def remove(self, channel: Channel) -> bool:
        """Remove the member on this channel. Returns whether there was one."""
        client = self.clients.pop(channel, None)
        if client is None:
            return False
        self._suspects.pop(client.client_id, None)
        self._versions.pop(channel, None)
        channels = self._channels[client.client_id]
        del channels[channel]
        if not channels:
            del self._channels[client.client_id]
        self._forget_wants(channel)
        return True

    def subscribe(self, channel: Channel, said: Sequence[SubscriptionData]) -> bool:
        """Take the subscriptions of a heartbeat. Returns whether the group's topics changed."""
        self._remember_wants(channel, frozenset(map(_want, said)))
        self._versions[channel] = frozenset(each.sub_version for each in said)
        changed = False
        named = set()
        for subscription in said:
            named.add(subscription.topic)
            known = self.subscriptions.get(subscription.topic)
            changed = changed or known is None
            if known is None or subscription.sub_version > known.sub_version:
                self.subscriptions[subscription.topic] = subscription
        for topic in [topic for topic in self.subscriptions if topic not in named]:
            del self.subscriptions[topic]
            changed = True
        return changed

    def rival_of(self, client: Client) -> Client | None:
        """A client with the same client id in another live process; None if there is none. Call it
        after each heartbeat of `client`.

        A rival is found if both connections sent a heartbeat since the newer one was opened, and
        their last subscription versions differ. This excludes a broken connection that was not
        detected, and another connection of the same process: after that process subscribes anew,
        its connections differ only until each has sent a heartbeat.
        """
        channels = self._channels[client.client_id]
        own = self._versions.get(client.channel)
        if len(channels) == 1 or own is None:
            return None
        suspect = self._suspects.get(client.client_id)
        if suspect is not None and self._versions[suspect] != own:
            return self.clients[suspect]
        compared = islice(reversed(channels), COMPARED_MAX)
        if any(self._versions.get(each, own) != own for each in compared):
            self._suspects[client.client_id] = client.channel
        else:
            self._suspects.pop(client.client_id, None)
        return None

    def is_shared(self, client_id: str) -> bool:
        """Whether connections of more than one process use this client id."""
        channels = self._channels.get(client_id, ())
        said = {self._versions[each] for each in channels if each in self._versions}
        return len(said) > 1

    def _remember_wants(self, channel: Channel, wants: Wants) -> None:
        if self._wants.get(channel) != wants:
            self._forget_wants(channel)
            self._wants[channel] = wants
            self._members[wants] = self._members.get(wants, 0) + 1

    def _forget_wants(self, channel: Channel) -> None:
        wants = self._wants.pop(channel, None)
        if wants is not None:
            self._members[wants] -= 1
            if not self._members[wants]:
                del self._members[wants]


def _want(said: SubscriptionData) -> tuple[str, str, str]:
    text = said.sub_string
    if said.expression_type == EXPRESSION_TAG and len(said.tags) > 1:
        text = " || ".join(sorted(said.tags))  # "B || A" and "A || B" are the same subscription
    return (said.topic, said.expression_type, text)


def weight_of(data: ConsumerData) -> int:
    """Estimates the bytes of memory that this consumer's data takes."""
    names = len(data.consume_type) + len(data.message_model) + len(data.consume_from_where)
    return (
        CONSUMER_BYTES
        + len(data.group_name)
        + names
        + sum(
            SUBSCRIPTION_BYTES
            + len(each.topic)
            + len(each.expression_type)
            + len(each.sub_string)
            + ITEM_BYTES * (len(each.tags) + len(each.codes))
            + sum(map(len, each.tags))
            for each in data.subscriptions
        )
    )


def producer_weight(group: str) -> int:
    """Estimates the bytes of memory that a producer in this group takes."""
    return PRODUCER_BYTES + len(group)
