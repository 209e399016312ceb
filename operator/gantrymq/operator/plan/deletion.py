"""Plans the deletion of a cluster whose BrokerCluster is deleted.

With `onClusterDeletion: Retain` the operator does nothing: Kubernetes deletes the owned objects,
Leases and volume claims stay, and a new BrokerCluster of the same name uses them. With `Delete` the
operator holds the resource by a finalizer until the members are gone, and deletes Leases and
claims.

The operator always removes the finalizer in the end: at once if the namespace is being deleted or
the objects are to stay (`--cascade=orphan`), and after a bounded wait if members do not end. An
Event then names the objects that are left. While the deletion waits, the status says for what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gantrymq.operator.plan.actions import (
    Action,
    Delete,
    Json,
    ObjectRef,
    Plan,
    SetFinalizers,
    Wait,
)
from gantrymq.operator.plan.objects.fields import (
    is_terminating,
    label_of,
    list_at,
    name_of,
    ref_of,
    seconds_at,
    text_at,
    uid_of,
    value_at,
    version_of,
)
from gantrymq.operator.plan.objects.kinds import CLAIM, ENDPOINT_SLICE, LEASE, POD, STATEFUL_SET
from gantrymq.operator.plan.objects.names import GROUP_LABEL, ClusterNames
from gantrymq.operator.plan.snapshot import ClusterSnapshot
from gantrymq.operator.plan.status.notes import note
from gantrymq.operator.plan.status.obstacles import one_line
from gantrymq.operator.plan.status.poor_view import status_of_deletion
from gantrymq.operator.plan.view.observed import Observed
from gantrymq.operator.resources.names import API_VERSION, group_name
from gantrymq.operator.resources.reasons.conditions import Reason

FINALIZER: Final = "gantrymq.dev/cluster"
PODS_SECONDS: Final = 120
"""How long a deleted pod may take to end, if its grace period is not longer. A pod on a dead node
never ends."""
MEMBERS_SECONDS: Final = 600
"""How long StatefulSets that do not end, or pods that are created again, may hold the deleted
resource. Pods of usual grace periods take less, even one after another."""
AGAIN_SECONDS: Final = 2.0
ORPHAN: Final = "orphan"
"""The finalizer that `kubectl delete --cascade=orphan` sets."""
_DATA: Final = "deletion of Leases and volume claims"


def finalizer_change(resource: Json, *, deletes_volumes: bool) -> SetFinalizers | None:
    """Add or remove the finalizer of a resource that is not deleted, as its policy demands."""
    finalizers = list_at(resource, "metadata", "finalizers")
    if deletes_volumes and FINALIZER not in finalizers:
        reason = "storage.onClusterDeletion is Delete"
        return _set(resource, [*finalizers, FINALIZER], reason)
    if not deletes_volumes and FINALIZER in finalizers:
        return release(resource, "storage.onClusterDeletion is Retain")
    return None


def release(resource: Json, reason: str) -> SetFinalizers:
    """Remove the operator's finalizer from the resource."""
    finalizers = list_at(resource, "metadata", "finalizers")
    return _set(resource, [each for each in finalizers if each != FINALIZER], reason)


def plan_deletion(snapshot: ClusterSnapshot, now: float) -> Plan:
    """Plan the next step for a resource that is being deleted."""
    resource = snapshot.resource
    if FINALIZER not in list_at(resource, "metadata", "finalizers"):
        return Plan()
    if snapshot.namespace_is_terminating:
        return Plan((release(resource, "the namespace is being deleted with all its objects"),))
    if ORPHAN in list_at(resource, "metadata", "finalizers"):
        return Plan((release(resource, "the objects are to stay (--cascade=orphan)"),))
    policy = text_at(resource, "spec", "storage", "onClusterDeletion")
    if policy != "Delete":
        return Plan((release(resource, "storage.onClusterDeletion is Retain"),))
    return _with_status(_next_step(snapshot, now), snapshot, now)


def _with_status(planned: Plan, snapshot: ClusterSnapshot, now: float) -> Plan:
    """Add a status that says what the deletion waits for, unless the plan releases the resource."""
    if any(isinstance(each, SetFinalizers) for each in planned.actions):
        return planned
    waits = planned.waits
    if snapshot.refusal:
        refused = f"the API server refused a change: {one_line(snapshot.refusal)}"
        waits += (Wait("deletion of the cluster", refused),)
    return replace(planned, waits=waits, status=status_of_deletion(snapshot.resource, waits, now))


def _next_step(snapshot: ClusterSnapshot, now: float) -> Plan:
    if snapshot.objects is None or snapshot.pods is None or snapshot.volume_claims is None:
        return _wait("deletion of the cluster", "its objects could not be read")
    stateful_sets = Observed(snapshot.objects).stateful_sets()
    left = _left_behind(snapshot, stateful_sets, now)
    members = _end_members(snapshot, stateful_sets, snapshot.pods, left, now)
    if members is not None:
        return members
    planned = _delete_data(snapshot, snapshot.volume_claims, left)
    if not left:
        return planned
    shown = ", ".join(sorted(left.values()))
    message = f"{MEMBERS_SECONDS} s after the deletion these still exist: {shown}"
    return replace(planned, events=(note(Reason.LEFT_BEHIND, message),))


def _left_behind(
    snapshot: ClusterSnapshot, stateful_sets: Iterable[Json], now: float
) -> dict[str, str]:
    """Return the objects that the deletion does not wait for any more, by uid: StatefulSets that
    were deleted and still exist, and objects that were created after the deletion."""
    deleted_at = seconds_at(snapshot.resource, "metadata", "deletionTimestamp")
    if deleted_at is None or now < deleted_at + MEMBERS_SECONDS:
        return {}
    stuck = [each for each in stateful_sets if is_terminating(each)]
    left = {uid_of(each): f"{STATEFUL_SET[1]} {name_of(each)}" for each in stuck}
    objects: list[tuple[str, Json | None]] = [(STATEFUL_SET[1], each) for each in stateful_sets]
    objects += [(POD[1], each) for each in snapshot.pods or ()]
    objects += [(CLAIM[1], each) for each in snapshot.volume_claims or ()]
    objects += [(LEASE[1], each) for each in (snapshot.leases or {}).values()]
    objects += [(ENDPOINT_SLICE[1], each) for each in (snapshot.slices or {}).values()]
    for kind, each in objects:
        created = seconds_at(each, "metadata", "creationTimestamp")
        if each is not None and created is not None and created > deleted_at:
            left[uid_of(each)] = f"{kind} {name_of(each)}"
    return left


def _end_members(
    snapshot: ClusterSnapshot,
    stateful_sets: Sequence[Json],
    pods: Sequence[Json],
    left: Mapping[str, str],
    now: float,
) -> Plan | None:
    """Plan the end of the members; None once the deletion waits for no member any more."""
    waited = [each for each in stateful_sets if uid_of(each) not in left]
    actions: list[Action] = [
        Delete(ref_of(each, *STATEFUL_SET), uid_of(each), "the cluster is deleted")
        for each in waited
        if not is_terminating(each)
    ]
    if waited:
        why = f"StatefulSets that are being deleted: {', '.join(sorted(map(name_of, waited)))}"
        return Plan(tuple(actions), (Wait(_DATA, why),), requeue_seconds=AGAIN_SECONDS)
    awaited = [each for each in pods if uid_of(each) not in left]
    actions = _unseen_owners(snapshot.resource, stateful_sets, awaited)
    actions += [
        Delete(ref_of(pod, *POD), uid_of(pod), "the cluster is deleted")
        for pod in awaited
        if not is_terminating(pod)
    ]
    ending = sorted(name_of(pod) for pod in awaited if _is_waited_for(pod, now))
    if not actions and not ending:
        return None
    waits = (Wait(_DATA, f"pods that are ending: {', '.join(ending)}"),) if ending else ()
    return Plan(tuple(actions), waits, requeue_seconds=AGAIN_SECONDS)


def _unseen_owners(
    resource: Json, stateful_sets: Iterable[Json], pods: Iterable[Json]
) -> list[Action]:
    """Delete StatefulSets that lost their labels, so that the caches show only their pods. They
    would create the pods again for ever."""
    names = ClusterNames(name_of(resource), text_at(resource, "metadata", "namespace"))
    seen = {uid_of(each) for each in stateful_sets}
    found: dict[str, Action] = {}
    for pod in pods:
        group = label_of(pod, GROUP_LABEL)
        name = names.group(group) if group else names.name_servers
        for owner in list_at(pod, "metadata", "ownerReferences"):
            uid, is_ours = text_at(owner, "uid"), text_at(owner, "name") == name
            is_unseen = uid not in seen and not is_terminating(pod)
            if text_at(owner, "kind") == STATEFUL_SET[1] and is_ours and is_unseen:
                ref = ObjectRef(*STATEFUL_SET, names.namespace, name)
                found[uid] = Delete(ref, uid, "the cluster is deleted, and its pods name it")
    return list(found.values())


def _is_waited_for(pod: Json, now: float) -> bool:
    """Whether a pod may still take time to end. Its deletionTimestamp is the end of the grace
    period."""
    end = seconds_at(pod, "metadata", "deletionTimestamp")
    if end is None:
        return False
    grace = value_at(pod, "spec", "terminationGracePeriodSeconds")
    told_at = end - (grace if isinstance(grace, int) else 0)
    return now < max(told_at + PODS_SECONDS, end + AGAIN_SECONDS)


def _delete_data(
    snapshot: ClusterSnapshot, claims: Iterable[Json], left: Mapping[str, str]
) -> Plan:
    count = value_at(snapshot.resource, "spec", "groups")
    groups = map(group_name, range(count if isinstance(count, int) else 0))
    leases, slices = snapshot.leases, snapshot.slices or {}
    if leases is None or any(group not in leases for group in groups):
        return _wait("deletion of the cluster", "its Leases could not be read")
    actions: list[Action] = [
        Delete(ref_of(each, *CLAIM), uid_of(each), "storage.onClusterDeletion is Delete")
        for each in claims
        if not is_terminating(each) and uid_of(each) not in left
    ]
    actions += _deletes(leases, LEASE, left) + _deletes(slices, ENDPOINT_SLICE, left)
    if actions:
        return Plan(tuple(actions), requeue_seconds=AGAIN_SECONDS)
    return Plan((release(snapshot.resource, "Leases and volume claims are deleted"),))


def _deletes(
    found: Mapping[str, Json | None], kind: tuple[str, str], left: Mapping[str, str]
) -> list[Action]:
    return [
        Delete(ref_of(each, *kind), uid_of(each), "the cluster is deleted")
        for each in found.values()
        if each is not None and not is_terminating(each) and uid_of(each) not in left
    ]


def _wait(what: str, why: str) -> Plan:
    return Plan((), (Wait(what, why),), requeue_seconds=AGAIN_SECONDS)


def _set(resource: Json, finalizers: list[str], reason: str) -> SetFinalizers:
    ref = ref_of(resource, API_VERSION, "BrokerCluster")
    return SetFinalizers(ref, version_of(resource), tuple(finalizers), reason)
