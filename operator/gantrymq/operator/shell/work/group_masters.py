"""Finds the master of each group by the group's Lease, for requests about topics.

The address in a Lease outlives a master that could not release it, and a broker of another cluster
may have got its IP. The address is used only while the holder's pod has that IP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, final

from gantrymq.operator.brokers.replication import is_of_member
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import KubeClient, Lane
from gantrymq.operator.kube.errors import NotFoundError
from gantrymq.operator.kube.watch.object_store import ObjectStore
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import annotation_of, is_terminating, seconds_at, text_at
from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.plan.view.lease import read_lease
from gantrymq.operator.resources.names import GROUPS_MAX, group_name
from gantrymq.operator.shell.work.caches import Caches
from gantrymq.operator.topics.values import GroupView
from gantrymq.runtime.logs import Log

UNCONFIRMED: Final = "has a master whose pod does not have the address in the Lease"

_ADDRESS: Final = "gantrymq.dev/address"
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


@final
class GroupMasters:
    """Reads Leases by name and compares them with the cached pods. It keeps no state."""

    def __init__(self, client: KubeClient, caches: Caches, wall: Callable[[], float]) -> None:
        self._client = client
        self._log = Log("operator.topics")
        self._pods = caches.owned[kinds.POD.name]
        self._wall = wall

    def is_synced(self, namespace: str) -> bool:
        """Whether the pods of this namespace have been listed."""
        return self._pods.synced_sink(namespace) is not None

    async def of(self, names: ClusterNames, count: int) -> tuple[GroupView, ...] | None:
        """Return the first `count` groups, each with its master's address or the reason why there
        is none; None if there is no group, or if pods have not been listed."""
        groups = [group_name(index) for index in range(min(count, GROUPS_MAX))]
        leases = await asyncio.gather(*(self._lease(names, group) for group in groups))
        store = self._pods.synced_sink(names.namespace)
        if store is None:
            return None
        found = zip(groups, leases, strict=True)
        return tuple(self._view(names, group, lease, store) for group, lease in found) or None

    def _view(
        self, names: ClusterNames, group: str, lease: Json | None, pods: ObjectStore
    ) -> GroupView:
        holder = 0 if lease is None else read_lease(lease).holder
        if lease is None or not holder:
            return GroupView(group)
        name, address = names.pod(group, holder), annotation_of(lease, _ADDRESS)
        if has_address(pods.get(names.namespace, name), holder, address, self._wall()):
            return GroupView(group, address)
        self._log.info("ignoring master address", pod=name, address=address)
        return GroupView(group, why=UNCONFIRMED)

    async def _lease(self, names: ClusterNames, group: str) -> Json | None:
        try:
            path = kinds.LEASE.path(names.namespace, names.group(group))
            return await self._client.get(path, lane=Lane.BULK)
        except NotFoundError:
            return None


def has_address(pod: Json | None, member: int, address: str, now: float) -> bool:
    """Whether this `host:port` is the member's: its pod exists and has the IP."""
    return pod is not None and not _is_gone(pod, now) and is_of_member(address, member, (pod,))


def _is_gone(pod: Json, now: float) -> bool:
    """Whether the pod may have lost its IP although the API still shows it: it has finished, or it
    is being deleted and its grace period is over."""
    if text_at(pod, "status", "phase") in _FINISHED:
        return True
    end = seconds_at(pod, "metadata", "deletionTimestamp")
    return is_terminating(pod) and (end is None or end <= now)
