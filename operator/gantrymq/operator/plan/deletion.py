"""What happens to a cluster whose BrokerCluster is deleted.

With `onClusterDeletion: Retain` nothing: Kubernetes collects the owned objects, Leases and volume
claims stay, and a BrokerCluster of the same name takes them over. With `Delete` the operator holds
the resource by a finalizer until the members are gone, and deletes Leases and claims.

The finalizer always goes: at once when the namespace is being deleted, and after a bounded wait for
pods that do not end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gantrymq.operator.plan.actions import (
    Action,
    Delete,
    Json,
    Plan,
    SetFinalizers,
    Wait,
)
from gantrymq.operator.plan.objects.kinds import CLAIM, ENDPOINT_SLICE, LEASE, POD, STATEFUL_SET
from gantrymq.operator.plan.snapshot import ClusterSnapshot
from gantrymq.operator.plan.view.fields import (
    is_terminating,
    list_at,
    name_of,
    ref_of,
    seconds_at,
    text_at,
    uid_of,
    value_at,
    version_of,
)
from gantrymq.operator.plan.view.observed import Observed
from gantrymq.operator.resources.names import API_VERSION, group_name

FINALIZER: Final = "gantrymq.dev/cluster"
PODS_SECONDS: Final = 120
"""How long a pod may take to end after it was told to, or its own grace period and a little; a pod
on a dead node never does."""
AGAIN_SECONDS: Final = 2.0


def finalizer_change(resource: Json, *, deletes_volumes: bool) -> SetFinalizers | None:
    """Hold a living resource only where there will be something to delete."""
    finalizers = list_at(resource, "metadata", "finalizers")
    if deletes_volumes and FINALIZER not in finalizers:
        reason = "storage.onClusterDeletion is Delete"
        return _set(resource, [*finalizers, FINALIZER], reason)
    if not deletes_volumes and FINALIZER in finalizers:
        return release(resource, "storage.onClusterDeletion is Retain")
    return None


def release(resource: Json, reason: str) -> SetFinalizers:
    """Let the resource go, as far as the operator is concerned."""
    finalizers = list_at(resource, "metadata", "finalizers")
    return _set(resource, [each for each in finalizers if each != FINALIZER], reason)


def plan_deletion(snapshot: ClusterSnapshot, now: float) -> Plan:
    """The next step of the deletion of a resource that is being deleted."""
    resource = snapshot.resource
    if FINALIZER not in list_at(resource, "metadata", "finalizers"):
        return Plan()
    if snapshot.namespace_is_terminating:
        return Plan((release(resource, "the namespace is being deleted with all its objects"),))
    policy = text_at(resource, "spec", "storage", "onClusterDeletion")
    if policy != "Delete":
        return Plan((release(resource, "storage.onClusterDeletion is Retain"),))
    if snapshot.objects is None or snapshot.pods is None or snapshot.volume_claims is None:
        return _wait("deletion of the cluster", "its objects could not be read")
    members = _end_members(Observed(snapshot.objects), snapshot.pods, now)
    if members is not None:
        return members
    return _delete_data(resource, snapshot, snapshot.volume_claims)


def _end_members(observed: Observed, pods: Iterable[Json], now: float) -> Plan | None:
    """None once no member is waited for any more."""
    actions: list[Action] = [
        Delete(ref_of(each, *STATEFUL_SET), uid_of(each), "the cluster is deleted")
        for each in observed.stateful_sets()
        if not is_terminating(each)
    ]
    if observed.stateful_sets():
        return Plan(tuple(actions), requeue_seconds=AGAIN_SECONDS)
    actions += [
        Delete(ref_of(pod, *POD), uid_of(pod), "the cluster is deleted", is_disruptive=True)
        for pod in pods
        if not is_terminating(pod)
    ]
    ending = sorted(name_of(pod) for pod in pods if _is_waited_for(pod, now))
    if actions or ending:
        waits = (
            Wait(
                "deletion of Leases and volume claims", f"pods that are ending: {', '.join(ending)}"
            ),
        )
        return Plan(tuple(actions), waits if ending else (), requeue_seconds=AGAIN_SECONDS)
    return None


def _is_waited_for(pod: Json, now: float) -> bool:
    """A pod's deletionTimestamp is the end of its grace period."""
    end = seconds_at(pod, "metadata", "deletionTimestamp")
    if end is None:
        return False
    grace = value_at(pod, "spec", "terminationGracePeriodSeconds")
    told_at = end - (grace if isinstance(grace, int) else 0)
    return now < max(told_at + PODS_SECONDS, end + AGAIN_SECONDS)


def _delete_data(resource: Json, snapshot: ClusterSnapshot, claims: Iterable[Json]) -> Plan:
    count = value_at(resource, "spec", "groups")
    groups = map(group_name, range(count if isinstance(count, int) else 0))
    leases, slices = snapshot.leases, snapshot.slices or {}
    if leases is None or any(group not in leases for group in groups):
        return _wait("deletion of the cluster", "its Leases could not be read")
    actions: list[Action] = [
        Delete(ref_of(each, *CLAIM), uid_of(each), "storage.onClusterDeletion is Delete")
        for each in claims
        if not is_terminating(each)
    ]
    actions += _deletes(leases, LEASE) + _deletes(slices, ENDPOINT_SLICE)
    if actions:
        return Plan(tuple(actions), requeue_seconds=AGAIN_SECONDS)
    return Plan((release(resource, "Leases and volume claims are deleted"),))


def _deletes(found: Mapping[str, Json | None], kind: tuple[str, str]) -> list[Action]:
    return [
        Delete(ref_of(each, *kind), uid_of(each), "the cluster is deleted")
        for each in found.values()
        if each is not None and not is_terminating(each)
    ]


def _wait(what: str, why: str) -> Plan:
    return Plan((), (Wait(what, why),), requeue_seconds=AGAIN_SECONDS)


def _set(resource: Json, finalizers: list[str], reason: str) -> SetFinalizers:
    ref = ref_of(resource, API_VERSION, "BrokerCluster")
    return SetFinalizers(ref, version_of(resource), tuple(finalizers), reason)
