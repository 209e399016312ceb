"""Who is connected: producers and consumers by group, as their heartbeats say.

A group's consumers share its subscriptions: the newest `sub_version` of a topic wins, and a topic
that a heartbeat does not name any more goes, as in Java. What members of one group say differently
is kept as a conflict, for people to see.

Invariants: a client is listed under its channel; when that closes, or nothing was heard of it for
CLIENT_SECONDS, it leaves all its groups at once, and a group whose last client left leaves too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.broker.core.messages import Channel
from gantrymq.wire.bodies.heartbeat import ConsumerData, SubscriptionData

CLIENT_SECONDS: Final = 120.0


@final
@dataclass(slots=True)
class Client:
    """A client in a group, by its channel."""

    channel: Channel
    client_id: str
    language: int
    version: int
    heard_at: float
    heard_ms: int


@final
@dataclass(slots=True)
class ConsumerGroup:
    """A group with consumers."""

    name: str
    consume_type: str
    message_model: str
    consume_from_where: str
    clients: dict[Channel, Client] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)

    def client_ids(self) -> list[str]:
        """Each once, as consumers share queues among them."""
        return list(dict.fromkeys(client.client_id for client in self.clients.values()))

    def find(self, client_id: str) -> Client | None:
        for client in self.clients.values():
            if client.client_id == client_id:
                return client
        return None


@final
class Clients:
    """The tables of both kinds."""

    __slots__ = ("consumers", "producers")

    def __init__(self) -> None:
        self.consumers: dict[str, ConsumerGroup] = {}
        self.producers: dict[str, dict[Channel, Client]] = {}

    def add_producer(self, group: str, client: Client) -> None:
        self.producers.setdefault(group, {})[client.channel] = client

    def add_consumer(self, data: ConsumerData, client: Client, *, keeps_subs: bool = False) -> bool:
        """Whether the group's members or topics changed."""
        group = self.consumers.get(data.group_name)
        if group is None:
            group = self.consumers[data.group_name] = ConsumerGroup(
                data.group_name, data.consume_type, data.message_model, data.consume_from_where
            )
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.consume_from_where = data.consume_from_where
        known = group.clients.get(client.channel)
        is_new = known is None or known.client_id != client.client_id
        group.clients[client.channel] = client
        if keeps_subs:
            return is_new
        return self._subscribe(group, data.subscriptions) or is_new

    def _subscribe(self, group: ConsumerGroup, said: Iterable[SubscriptionData]) -> bool:
        changed = False
        named = set()
        for subscription in said:
            named.add(subscription.topic)
            known = group.subscriptions.get(subscription.topic)
            changed = changed or known is None
            if known is None or subscription.sub_version > known.sub_version:
                group.subscriptions[subscription.topic] = subscription
        for topic in [topic for topic in group.subscriptions if topic not in named]:
            del group.subscriptions[topic]
            changed = True
        return changed

    def remove_producer(self, group: str, channel: Channel) -> bool:
        clients = self.producers.get(group)
        if clients is None or clients.pop(channel, None) is None:
            return False
        if not clients:
            del self.producers[group]
        return True

    def remove_consumer(self, group: str, channel: Channel) -> bool:
        """Whether the group had a member there."""
        members = self.consumers.get(group)
        if members is None or members.clients.pop(channel, None) is None:
            return False
        if not members.clients:
            del self.consumers[group]
        return True

    def closed(self, channel: Channel) -> list[str]:
        """The connection ended: the consumer groups that lost a member."""
        for group in list(self.producers):
            self.remove_producer(group, channel)
        return [group for group in list(self.consumers) if self.remove_consumer(group, channel)]

    def silent(self, now: float) -> set[Channel]:
        """Connections whose clients have not been heard of for too long."""
        tables = [*self.producers.values(), *(group.clients for group in self.consumers.values())]
        return {
            channel
            for table in tables
            for channel, client in table.items()
            if client.heard_at + CLIENT_SECONDS <= now
        }
