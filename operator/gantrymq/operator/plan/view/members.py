"""Reads the members of groups from a snapshot: pod, node, readiness, and role in the Lease."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from gantrymq.operator.plan.actions import Json, ObjectRef
from gantrymq.operator.plan.objects.fields import (
    condition_of,
    is_terminating,
    list_at,
    map_at,
    name_of,
    text_at,
)
from gantrymq.operator.plan.objects.groups import GroupSize
from gantrymq.operator.plan.objects.kinds import LEASE
from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.plan.objects.pods.workloads import is_outdated
from gantrymq.operator.plan.snapshot import ClusterSnapshot
from gantrymq.operator.plan.view.lease import GroupLease, read_lease
from gantrymq.operator.plan.view.nodes import is_node_ready
from gantrymq.operator.plan.view.observed import Observed


@final
@dataclass(frozen=True, slots=True)
class Member:
    """One member of a group. `pod` is None while it has no pod."""

    number: int
    pod_name: str
    pod: Json | None
    is_outdated: bool = False
    """Whether the pod was created from an earlier template of the StatefulSet."""
    node: str = ""
    is_leaving: bool = False
    """Whether the pod is being deleted."""
    is_ready: bool = False
    """Whether the pod is ready and not being deleted."""
    is_running: bool = False
    """Whether a broker may be running. False only if it is certain that none runs."""
    is_node_lost: bool = False
    """Whether the pod's node does not exist, or is not ready."""
    restarts: int = 0

    @property
    def is_serving(self) -> bool:
        """Whether a broker runs that may be master. It need not be ready, because a master without
        enough followers is not."""
        return self.is_running and not self.is_leaving and not self.is_node_lost


@final
@dataclass(frozen=True, slots=True)
class Group:
    """A group with its members and its Lease."""

    name: str
    members: tuple[Member, ...]
    is_lease_known: bool
    """Whether the Lease was read, or was read as absent."""
    lease: GroupLease | None
    address: str
    stateful_set: Json | None
    lease_ref: ObjectRef

    @property
    def is_readable(self) -> bool:
        """Whether decisions may rely on the Lease."""
        return self.is_lease_known and (self.lease is None or not self.lease.damage)

    @property
    def numbers(self) -> frozenset[int]:
        return frozenset(member.number for member in self.members)

    @property
    def master(self) -> Member | None:
        """The member that the Lease names, which may not exist any more."""
        return self.member(self.lease.holder) if self.lease else None

    @property
    def in_sync(self) -> frozenset[int]:
        """The members that have every acknowledged message, from the Lease."""
        return self.lease.in_sync & self.numbers if self.lease else frozenset()

    @property
    def has_formed(self) -> bool:
        """Whether the group ever had a master."""
        return self.lease is not None and self.lease.epoch > 0

    @property
    def has_master(self) -> bool:
        """Whether the member that holds the Lease runs."""
        return self.master is not None and self.master.is_serving

    @property
    def is_settled(self) -> bool:
        """Whether every member runs, is ready and in sync, and no switchover is under way."""
        return (
            self.is_readable
            and self.lease is not None
            and self.has_master
            and not self.lease.is_switching
            and self.in_sync == self.numbers
            and all(member.is_ready for member in self.members)
        )

    def member(self, number: int) -> Member | None:
        return next((each for each in self.members if each.number == number), None)


def read_groups(
    sizes: Sequence[GroupSize],
    names: ClusterNames,
    observed: Observed,
    snapshot: ClusterSnapshot,
    pods: Iterable[Json],
) -> tuple[Group, ...]:
    """Read all groups of the cluster."""
    by_name = {name_of(pod): pod for pod in pods}
    return tuple(_group(size, names, observed, snapshot, by_name) for size in sizes)


def _group(
    size: GroupSize,
    names: ClusterNames,
    observed: Observed,
    snapshot: ClusterSnapshot,
    pods: dict[str, Json],
) -> Group:
    stateful_set = observed.stateful_set(names.group(size.name))
    leases = snapshot.leases or {}
    lease = leases.get(size.name)
    return Group(
        size.name,
        tuple(
            _member(names.pod(size.name, number), number, pods, stateful_set, snapshot.nodes)
            for number in range(1, size.members + 1)
        ),
        size.name in leases,
        None if lease is None else read_lease(lease),
        observed.address(names.group(size.name)) or size.address,
        stateful_set,
        ObjectRef(*LEASE, names.namespace, names.group(size.name)),
    )


def _member(
    name: str,
    number: int,
    pods: Mapping[str, Json],
    stateful_set: Json | None,
    nodes: Mapping[str, Json] | None,
) -> Member:
    pod = pods.get(name)
    if pod is None:
        return Member(number, name, None)
    statuses = list_at(pod, "status", "containerStatuses")
    is_leaving, node = is_terminating(pod), text_at(pod, "spec", "nodeName")
    known = (nodes or {}).get(node)
    return Member(
        number,
        name,
        pod,
        is_outdated=stateful_set is not None and is_outdated(pod, stateful_set),
        node=node,
        is_leaving=is_leaving,
        is_ready=not is_leaving and is_pod_ready(pod),
        is_running=_is_running(pod, statuses),
        is_node_lost=bool(node)
        and nodes is not None
        and (known is None or not is_node_ready(known)),
        restarts=sum(int(each.get("restartCount", 0)) for each in statuses),
    )


def is_pod_ready(pod: Json) -> bool:
    return text_at(condition_of(pod, "Ready"), "status") == "True"


def _is_running(pod: Json, statuses: Iterable[Any]) -> bool:  # Any: JSON of the API
    states = [map_at(each, "state") for each in statuses]
    if not states:
        return text_at(pod, "status", "phase") != "Pending"
    return not all("waiting" in state or "terminated" in state for state in states)
