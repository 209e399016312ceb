"""Expires clients without heartbeats, and notifies consumers to rebalance when their group changes.

    a group changed -> its members are notified at once, or QUIET_SECONDS after the last
                       notification

Invariant: after every change of a group's members or topics, its members of that time are notified.
There are two exceptions: broadcasting groups, whose members do not share queues, and brokers whose
settings turn notifications off. A group's configuration can turn off notifications of members that
join or unregister. The loss of a member is notified all the same, as in RocketMQ, because its
queues have no consumer.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.messages import Channel, CloseChannel, Tell
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.headers.client import ConsumerGroupRequest

# As in RocketMQ.
SCAN_SECONDS: Final = 10.0

# If a hundred consumers start together, they get a few notifications, not a hundred. Clients
# themselves wait up to a second between two rebalances.
QUIET_SECONDS: Final = 0.5


@final
class ClientWatch:
    """The service of one broker that watches its clients. Request handlers report changes."""

    __slots__ = ("_due", "_next_due", "_scan_at", "_state", "_told_at")

    def __init__(self, state: State) -> None:
        self._state = state
        self._scan_at = 0.0
        self._due: dict[str, float] = {}
        self._next_due = NEVER
        self._told_at: dict[str, float] = {}

    def changed(self, group: str) -> None:
        """Members joined or left, or the group's topics changed."""
        config = self._state.groups.find(group)
        if config is None or config.notify_consumer_ids_changed_enable:
            self._tell_soon(group)

    def unregistered(self, group: str) -> None:
        """A member unregistered."""
        self._left(group)
        self.changed(group)

    def _lost(self, group: str) -> None:
        """A member was lost: its connection closed, or its heartbeats stopped."""
        self._left(group)
        self._tell_soon(group)

    def _left(self, group: str) -> None:
        members = self._state.clients.consumers.get(group)
        if members is None:
            self._state.effects.info(
                f"unregister consumer ok, no any connection, and remove consumer group, {group}"
            )
        self._state.conflicts.left(group, members)

    def _tell_soon(self, group: str) -> None:
        members = self._state.clients.consumers.get(group)
        if members is None or members.is_broadcasting or group in self._due:
            return
        if self._state.settings.notify_consumer_ids_changed_enable:
            told_at = self._told_at.get(group)
            due = 0.0 if told_at is None else told_at + QUIET_SECONDS
            self._due[group] = due
            self._next_due = min(self._next_due, due)

    # ------------------------------------------------------------------ the service

    def deadline(self) -> float:
        scan_at = self._scan_at if len(self._state.clients) else NEVER
        return min(scan_at, self._next_due)

    def expire(self, now: float) -> None:
        if self._scan_at <= now:
            self._scan_at = now + SCAN_SECONDS
            self._expire_clients(now)
            self._told_at = {
                group: told_at
                for group, told_at in self._told_at.items()
                if told_at + QUIET_SECONDS > now
            }
        if self._next_due <= now:
            for group in [group for group, due in self._due.items() if due <= now]:
                del self._due[group]
                self._told_at[group] = now
                self._tell(group)
            self._next_due = min(self._due.values(), default=NEVER)

    def closed(self, channel: Channel) -> None:
        for group in self._state.clients.closed(channel):
            self._state.effects.info(
                f"NETTY EVENT: remove not active channel[{channel.peer}] from ConsumerGroupInfo"
                f" groupChannelTable, consumer group: {group}"
            )
            self._lost(group)

    # ------------------------------------------------------------------ inside

    def _tell(self, group: str) -> None:
        members = self._state.clients.consumers.get(group)
        for channel in () if members is None else members.clients:
            if not channel.is_closing:
                ext = ConsumerGroupRequest(consumer_group=group).encode()
                command = Command(
                    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, flag=FLAG_ONEWAY, ext=ext
                )
                self._state.effects.add(Tell(channel, command))

    def _expire_clients(self, now: float) -> None:
        state = self._state
        heard_before = now - state.settings.channel_expired_timeout / 1000
        silent = []
        for group, client in state.clients.silent_producers(heard_before):
            state.clients.remove_producer(group, client.channel)
            silent.append((group, client))
        for group, client in state.clients.silent_consumers(heard_before):
            state.clients.remove_consumer(group, client.channel)
            silent.append((group, client))
            self._lost(group)
        for group, client in silent:
            state.effects.warning(
                f"SCAN: remove expired channel {client.channel.peer} of client {client.client_id},"
                f" group={group}: no heartbeat for {now - client.heard_at:.0f} s"
            )
        for channel in dict.fromkeys(client.channel for _, client in silent):
            if not state.clients.is_member(channel):
                state.effects.add(CloseChannel(channel, "no heartbeat of its clients"))
