"""Maintains the tables of a name server: topics' queues, broker names, clusters, live brokers.

Every change keeps them consistent:

- a live broker is exactly one member of one group, under one broker id, and has one address;
- there is no group without members, no cluster that no member names (so there are at most as many
  clusters as brokers), no topic without queues, and no queue on a group that does not exist;
- while any member of a group lives, slaves included, its queues stay.

So when all brokers are gone, all tables are empty. Java keeps filter servers and live brokers in
separate tables; here they are part of the member.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import final

from gantrymq.namesrv.core.messages import Channel, Effects
from gantrymq.namesrv.core.routing.brokers import Group, Member
from gantrymq.namesrv.core.routing.placement import TopicTable
from gantrymq.wire.bodies.route import QueueData
from gantrymq.wire.bodies.shared import Permission


@dataclass(frozen=True, slots=True)
class MasterLost:
    """A group with remaining members lost its lowest broker id."""

    group: Group
    offline_address: str


@final
class Routes:
    """The tables. `version` counts changes of everything that responses show besides placements."""

    __slots__ = ("_effects", "clusters", "groups", "members", "members_of", "topics", "version")

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self.topics = TopicTable()
        self.groups: dict[str, Group] = {}
        self.clusters: dict[str, set[str]] = {}
        self.members: dict[str, Member] = {}  # by address
        self.members_of: dict[Channel, set[Member]] = {}
        self.version = 0

    def group_for(self, name: str, cluster: str) -> Group:
        """The group of this name; a new one is created, and its first member must be installed
        next."""
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = Group(name, cluster)
        return group

    def install(self, member: Member, group: Group) -> None:
        """Make the member its group's broker of that id, replacing holders of the id or address."""
        holder = self.members.get(member.address)
        same_id = group.members.get(member.broker_id)
        clusters = [member.cluster]
        for displaced in {holder, same_id} - {member, None}:
            assert displaced is not None
            assert displaced.broker_name == group.name, "another group's member is removed first"
            clusters.append(displaced.cluster)
            self._forget(displaced)
        if holder is member:
            assert same_id is member
            return
        group.members[member.broker_id] = member
        self.members[member.address] = member
        self.version += 1
        for cluster in clusters:
            self._settle_cluster(group, cluster)

    def attach(self, member: Member, channel: Channel | None) -> None:
        """Bind the member's life to this connection."""
        if member.channel is not channel:
            self._detach(member)
        member.channel = channel
        if channel is not None:
            self.members_of.setdefault(channel, set()).add(member)

    def remove(self, leaving: Iterable[Member]) -> list[MasterLost]:
        """Remove members, and then groups, clusters and topics that existed only through them."""
        lost: list[MasterLost] = []
        ended: set[str] = set()
        for member in leaving:
            group = self.groups[member.broker_name]
            was_lowest = member.broker_id == group.lowest_id()
            self._forget(member)
            self._effects.info(f"unregisterBroker, remove from brokerLiveTable OK, {named(member)}")
            self._effects.info(
                f"unregisterBroker, remove addr from brokerAddrTable OK, {named(member)}"
            )
            if not group.members:
                del self.groups[group.name]
                ended.add(group.name)
                self._effects.info(
                    f"unregisterBroker, remove name from brokerAddrTable OK, {group.name}"
                )
            self._settle_cluster(group, member.cluster)
            if group.members and was_lowest:
                lost.append(MasterLost(group, member.address))
                self._wipe_write_permission(group)
        self._end_topics(frozenset(ended))
        return [event for event in lost if event.group.members]

    def forget_digests(self, broker_names: Iterable[str]) -> None:
        """Force the next registration of these brokers to be read in full, even if unchanged."""
        for name in broker_names:
            group = self.groups.get(name)
            for member in group.members.values() if group is not None else ():
                member.digest = None

    def remove_from_topics(self, topics: Iterable[str], broker_names: frozenset[str]) -> list[str]:
        """Remove the topics' queues on these brokers, which stay registered.

        Returns the topics that have no queues left.
        """
        self.forget_digests(broker_names)
        return self.topics.remove_brokers(topics, broker_names)

    def _forget(self, member: Member) -> None:
        del self.members[member.address]
        del self.groups[member.broker_name].members[member.broker_id]
        self._detach(member)
        self.version += 1

    def _detach(self, member: Member) -> None:
        if member.channel is None:
            return
        companions = self.members_of[member.channel]
        companions.discard(member)
        if not companions:
            del self.members_of[member.channel]
        member.channel = None

    def _settle_cluster(self, group: Group, cluster: str) -> None:
        """Update a cluster's list: it has the groups with a member in it, and is removed if
        empty."""
        if any(member.cluster == cluster for member in group.members.values()):
            self.clusters.setdefault(cluster, set()).add(group.name)
            return
        names = self.clusters.get(cluster, set())
        if group.name not in names:
            return
        names.discard(group.name)
        self._effects.info(f"unregisterBroker, remove name from clusterAddrTable OK, {group.name}")
        if not names:
            del self.clusters[cluster]
            self._effects.info(f"unregisterBroker, remove cluster from clusterAddrTable {cluster}")
        if group.cluster == cluster and group.members:
            group.cluster = group.members[group.lowest_id()].cluster

    def _end_topics(self, broker_names: frozenset[str]) -> None:
        if not broker_names:
            return
        concerned = self.topics.topics_where(
            lambda placement: any(name in placement for name in broker_names)
        )
        ended = self.topics.remove_brokers(concerned, broker_names)
        if ended:
            self._effects.info(f"removeTopicByBrokerName, remove the topic all queue {some(ended)}")

    def _wipe_write_permission(self, group: Group) -> None:
        """Remove the write permission if the group has an acting master, which only serves
        reads."""
        if group.enable_acting_master and group.master is None:
            self.topics.replace(group.name, without_write_permission)


def without_write_permission(queue: QueueData) -> QueueData:
    return replace(queue, perm=queue.perm & ~Permission.WRITE)


def named(member: Member) -> str:
    """Format a member as Java prints a BrokerAddrInfo."""
    return f"BrokerAddrInfo [clusterName={member.cluster}, brokerAddr={member.address}]"


def some(names: list[str], most: int = 20) -> str:
    """The names, or the first `most` and a count, to bound a log line."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
