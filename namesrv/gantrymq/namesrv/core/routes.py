"""The tables of a name server: topics' queues, broker names, clusters, living brokers.

Every change keeps them consistent, which is this module's whole duty:

- a living broker is exactly one member of one group, under one broker id, and holds one key;
- a group without members does not exist, nor does a cluster without groups, nor a topic without
  queues, nor queues on a group that does not exist;
- while any member of a group lives, slaves included, its queues stay.

So when all brokers are gone, all tables are empty. Java keeps filter servers and live brokers in
tables beside; here they are part of the member.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import final

from gantrymq.namesrv.core.brokers import Group, Member, MemberKey
from gantrymq.namesrv.core.messages import Channel, Effects
from gantrymq.namesrv.core.placement import TopicTable
from gantrymq.wire.bodies.route import QueueData
from gantrymq.wire.bodies.shared import Permission


@dataclass(frozen=True, slots=True)
class MasterLost:
    """The lowest broker id of a group that still has members went away."""

    group: Group
    offline_address: str


@final
class Routes:
    """The tables. `version` counts changes of everything an answer shows besides placements."""

    __slots__ = ("_effects", "clusters", "groups", "members", "members_of", "topics", "version")

    def __init__(self, effects: Effects) -> None:
        self._effects = effects
        self.topics = TopicTable()
        self.groups: dict[str, Group] = {}
        self.clusters: dict[str, set[str]] = {}
        self.members: dict[MemberKey, Member] = {}
        self.members_of: dict[Channel, set[Member]] = {}
        self.version = 0

    def group_for(self, name: str, cluster: str) -> Group:
        """The group of this name, made when it is new; the cluster lists it."""
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = Group(name, cluster)
        self.clusters.setdefault(cluster, set()).add(name)
        return group

    def install(self, member: Member, group: Group) -> None:
        """Make the member its group's broker of that id; whoever held id, key or both is gone."""
        holder = self.members.get(member.key)
        same_id = group.members.get(member.broker_id)
        for displaced in {holder, same_id} - {member, None}:
            assert displaced is not None
            assert displaced.broker_name == group.name, "another group's member is removed first"
            self._forget(displaced)
        if holder is member:
            assert same_id is member
            return
        group.members[member.broker_id] = member
        self.members[member.key] = member
        self.version += 1

    def attach(self, member: Member, channel: Channel | None) -> None:
        """From now on the member lives and dies with this connection."""
        if member.channel is not channel:
            self._detach(member)
        member.channel = channel
        if channel is not None:
            self.members_of.setdefault(channel, set()).add(member)

    def remove(self, leaving: Iterable[Member]) -> list[MasterLost]:
        """Members leave, and with them whatever stood only through them."""
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
                self._end_group(group)
                ended.add(group.name)
            elif was_lowest:
                lost.append(MasterLost(group, member.address))
                self._wipe_write_permission(group)
        self._end_topics(frozenset(ended))
        return [event for event in lost if event.group.members]

    def forget_digests(self, broker_names: Iterable[str]) -> None:
        """The next registration of these brokers is read in full, even if it is the same."""
        for name in broker_names:
            group = self.groups.get(name)
            for member in group.members.values() if group is not None else ():
                member.digest = None

    def remove_from_topics(self, topics: Iterable[str], broker_names: frozenset[str]) -> list[str]:
        """Topics lose their queues on these brokers, which live on; the topics that end."""
        self.forget_digests(broker_names)
        return self.topics.remove_brokers(topics, broker_names)

    def _forget(self, member: Member) -> None:
        del self.members[member.key]
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

    def _end_group(self, group: Group) -> None:
        name = group.name
        del self.groups[name]
        self._effects.info(f"unregisterBroker, remove name from brokerAddrTable OK, {name}")
        # A broker that moved to another cluster under its name is listed in both.
        for cluster in [cluster for cluster, names in self.clusters.items() if name in names]:
            self.clusters[cluster].discard(name)
            self._effects.info(f"unregisterBroker, remove name from clusterAddrTable OK, {name}")
            if not self.clusters[cluster]:
                del self.clusters[cluster]
                self._effects.info(
                    f"unregisterBroker, remove cluster from clusterAddrTable {cluster}"
                )

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
        """An acting master reads only; groups that do not ask for one are left as they are."""
        if group.enable_acting_master and group.master is None:
            self.topics.replace(group.name, without_write_permission)


def without_write_permission(queue: QueueData) -> QueueData:
    return replace(queue, perm=queue.perm & ~Permission.WRITE)


def named(member: Member) -> str:
    """As Java prints a BrokerAddrInfo."""
    return f"BrokerAddrInfo [clusterName={member.cluster}, brokerAddr={member.address}]"


def some(names: list[str], most: int = 20) -> str:
    """The names, or the first of them and a count: a log line has an end."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
