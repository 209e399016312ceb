"""Tracks the connected producers and consumers of each group, as their heartbeats report them.

The consumers of a group share its subscriptions: the newest `sub_version` of a topic wins, and a
topic that a heartbeat no longer names is removed, as in RocketMQ. The last subscriptions of each
member are kept as well, to detect members that subscribe differently.

Invariants: a client is listed under its channel. When the channel closes, or its heartbeats stop
for too long, the client leaves its groups; a group without clients is removed. Finding the groups
of a channel does not scan the groups of other channels.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, final

from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.core.tables.consumer_group import (
    CONSUMER_BYTES,
    Client,
    ConsumerGroup,
    producer_weight,
    weight_of,
)
from gantrymq.wire.bodies.heartbeat import (
    ConsumerData,
    HeartbeatData,
)

# The longest heartbeat body that is cached for a connection. Bodies of clients with a few groups
# are shorter; the decoded contents are kept in the tables in any case.
REMEMBERED_BYTES_MAX: Final = 4096


@final
class Memberships:
    """The groups of one channel in the order they were joined, consumer groups with the memory they
    take; and the last heartbeat, encoded and decoded, if it was short. `Clients` owns it."""

    __slots__ = ("_body", "_data", "consumers", "producers")

    def __init__(self) -> None:
        self.consumers: dict[str, int] = {}
        self.producers: dict[str, None] = {}
        self._body = b""
        self._data: HeartbeatData | None = None

    def understood(self, body: bytes) -> HeartbeatData | None:
        """The decoded heartbeat, if its body equals the last one; else None."""
        return self._data if body == self._body else None

    def remember(self, body: bytes, data: HeartbeatData) -> None:
        """Cache the last heartbeat. `data` must not be modified afterwards."""
        if len(body) <= REMEMBERED_BYTES_MAX:
            self._body, self._data = body, data


@final
class Clients:
    """The connected producers and consumers of one broker. Other modules read the tables, and
    change them only by these methods."""

    __slots__ = (
        "_memberships",
        "_memory",
        "_producers_by_id",
        "consumers",
        "is_registering",
        "producers",
    )

    def __init__(self, memory: MemoryAccount) -> None:
        self._memory = memory
        self.consumers: dict[str, ConsumerGroup] = {}
        self.producers: dict[str, dict[Channel, Client]] = {}
        self._producers_by_id: dict[str, dict[tuple[str, Channel], Client]] = {}
        self._memberships: dict[Channel, Memberships] = {}
        self.is_registering = False
        """Whether the registration of a client with many groups is under way over several turns."""

    def __len__(self) -> int:
        """The number of connections that have clients."""
        return len(self._memberships)

    def producers_of(self, client_id: str) -> Collection[Client]:
        """The producer entries of this client id, in all groups and on all connections."""
        return self._producers_by_id.get(client_id, {}).values()

    def add_producer(self, group: str, client: Client) -> None:
        """Add or refresh a producer."""
        members = self.producers.setdefault(group, {})
        known = members.get(client.channel)
        if known is not None and known.client_id != client.client_id:
            self._forget_producer(group, known)
        members[client.channel] = client
        own = self._producers_by_id.setdefault(client.client_id, {})
        own[group, client.channel] = client
        memberships = self._memberships.setdefault(client.channel, Memberships())
        if group not in memberships.producers:
            memberships.producers[group] = None
            self._memory.add(client.channel, Kind.CLIENTS, producer_weight(group))

    def add_consumer(self, data: ConsumerData, client: Client, *, keeps_subs: bool = False) -> bool:
        """Add or refresh a consumer. Returns whether the group's members or topics changed.

        With `keeps_subs` the heartbeat left its subscriptions out, and the known ones stay."""
        group = self.consumers.get(data.group_name)
        if group is None:
            group = self.consumers[data.group_name] = ConsumerGroup(
                data.group_name, data.consume_type, data.message_model, data.consume_from_where
            )
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.consume_from_where = data.consume_from_where
        is_new = group.put(client)
        memberships = self._memberships.setdefault(client.channel, Memberships())
        known = memberships.consumers.get(group.name)
        weight = (known or CONSUMER_BYTES) if keeps_subs else weight_of(data)
        memberships.consumers[group.name] = weight
        self._memory.add(client.channel, Kind.CLIENTS, weight - (known or 0))
        if keeps_subs:
            return is_new
        return group.subscribe(client.channel, data.subscriptions) or is_new

    def remove_producer(self, group: str, channel: Channel) -> bool:
        """Remove the group's member on this channel. Returns whether there was one."""
        clients = self.producers.get(group)
        client = None if clients is None else clients.pop(channel, None)
        if clients is None or client is None:
            return False
        self._forget_producer(group, client)
        if not clients:
            del self.producers[group]
        del self._memberships[channel].producers[group]
        self._memory.add(channel, Kind.CLIENTS, -producer_weight(group))
        self._forget_if_alone(channel)
        return True

    def _forget_producer(self, group: str, client: Client) -> None:
        own = self._producers_by_id[client.client_id]
        del own[group, client.channel]
        if not own:
            del self._producers_by_id[client.client_id]

    def remove_consumer(self, group: str, channel: Channel) -> bool:
        """Remove the group's member on this channel. Returns whether there was one."""
        members = self.consumers.get(group)
        if members is None or not members.remove(channel):
            return False
        if not members.clients:
            del self.consumers[group]
        weight = self._memberships[channel].consumers.pop(group)
        self._memory.add(channel, Kind.CLIENTS, -weight)
        self._forget_if_alone(channel)
        return True

    def _forget_if_alone(self, channel: Channel) -> None:
        groups = self._memberships[channel]
        if not groups.consumers and not groups.producers:
            del self._memberships[channel]

    def memberships_of(self, channel: Channel) -> Memberships:
        """The groups of this channel; an empty value for a channel without groups."""
        return self._memberships.get(channel) or Memberships()

    def client_of(self, channel: Channel) -> Client | None:
        """Any client of the channel, since all of them are in one process; None without any."""
        memberships = self._memberships.get(channel)
        if memberships is None:
            return None
        for group in memberships.consumers:
            return self.consumers[group].clients[channel]
        for group in memberships.producers:
            return self.producers[group][channel]
        return None

    def is_member(self, channel: Channel) -> bool:
        """Whether the channel has a client in any group."""
        return channel in self._memberships

    def closed(self, channel: Channel) -> list[str]:
        """Remove the clients of a closed channel. Returns the consumer groups that lost a
        member."""
        groups = self._memberships.get(channel)
        if groups is None:
            return []
        consumers = list(groups.consumers)
        for group in list(groups.producers):
            self.remove_producer(group, channel)
        for group in consumers:
            self.remove_consumer(group, channel)
        return consumers

    def silent_consumers(self, heard_before: float) -> list[tuple[str, Client]]:
        """Members of consumer groups without a heartbeat since then, with their group."""
        return [
            (group.name, client)
            for group in self.consumers.values()
            for client in group.clients.values()
            if client.heard_at <= heard_before
        ]

    def silent_producers(self, heard_before: float) -> list[tuple[str, Client]]:
        """Members of producer groups without a heartbeat since then, with their group."""
        return [
            (group, client)
            for group, clients in self.producers.items()
            for client in clients.values()
            if client.heard_at <= heard_before
        ]
