"""Plans the next step of a BrokerCluster: snapshot in; actions, waits and status out.

The functions are pure. The same snapshot gives the same plan, and plans that are carried out lead
to a snapshot with nothing left to do. A plan does not act on what could not be read: without the
owned objects it has no action at all; without pods, nodes or a Lease it has none that stops a
member or moves a master.

`now` is in Unix seconds, for the times of conditions and the interval between switchovers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.operator.plan.actions import Action, Delete, Plan, Wait
from gantrymq.operator.plan.deletion import finalizer_change, plan_deletion
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.desired import Desired, desired
from gantrymq.operator.plan.objects.fields import (
    is_terminating,
    map_at,
    name_of,
    text_at,
    uid_of,
    value_at,
)
from gantrymq.operator.plan.objects.groups import GroupSize, group_sizes
from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.plan.roles import Roles, assign_roles
from gantrymq.operator.plan.rolling import roll
from gantrymq.operator.plan.rotation import rotate
from gantrymq.operator.plan.security_profile import effective_profile, ignored_fields, with_profile
from gantrymq.operator.plan.snapshot import ClusterSnapshot
from gantrymq.operator.plan.status.cluster_status import cluster_status
from gantrymq.operator.plan.status.facts import Facts, ready_name_servers
from gantrymq.operator.plan.status.notes import notes
from gantrymq.operator.plan.status.obstacles import find_obstacles
from gantrymq.operator.plan.status.poor_view import plan_of_invalid, status_of_unread
from gantrymq.operator.plan.unsupported import unsupported_changes
from gantrymq.operator.plan.view.members import Group, read_groups
from gantrymq.operator.plan.view.observed import Observed
from gantrymq.operator.plan.view.secret_age import groups_with_old_secret
from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec, OnClusterDeletion
from gantrymq.operator.resources.parsing import parse_cluster

BUSY_SECONDS: Final = 2.0
WAITING_SECONDS: Final = 10.0
UNREAD_SECONDS: Final = 5.0
_DIVIDED: Final = (
    "the replication Secret was created again, so a member restarted alone cannot join"
)


def plan(snapshot: ClusterSnapshot, now: float) -> Plan:
    """Return the actions of now, what waits, and the status."""
    if is_terminating(snapshot.resource):
        return plan_deletion(snapshot, now)
    if snapshot.namespace_is_terminating:  # the API refuses new objects; the resource ends soon
        return Plan(waits=(Wait("the cluster", "its namespace is being deleted"),))
    parsed = parse_cluster(snapshot.resource)
    if parsed.spec is None:
        return plan_of_invalid(snapshot.resource, parsed.message, now)
    if snapshot.objects is None:
        status = status_of_unread(snapshot.resource, now)
        return Plan(status=status, requeue_seconds=UNREAD_SECONDS)
    observed = Observed(snapshot.objects)
    status_before = map_at(snapshot.resource, "status")
    sets, default = observed.stateful_sets(), snapshot.defaults.security_profile
    profile = effective_profile(parsed.spec, status_before, sets, default)
    cluster = _cluster(snapshot, with_profile(parsed.spec, profile))
    sizes = group_sizes(cluster, status_before, observed.group_stateful_sets())
    wanted = desired(cluster, sizes, observed, snapshot, now)
    if snapshot.pods is None or not _is_read(snapshot, sizes):
        actions = _carried_out(cluster, [*_holding(cluster, snapshot), *wanted.actions])
        status = status_of_unread(snapshot.resource, now)
        return Plan(actions, status=status, requeue_seconds=UNREAD_SECONDS)
    groups = read_groups(sizes, cluster.names, observed, snapshot, snapshot.pods)
    unsupported = [
        *unsupported_changes(parsed.spec, sizes),
        *ignored_fields(parsed.spec, profile),
    ]
    return _plan_read(cluster, snapshot, wanted, unsupported, groups, now)


def _plan_read(
    cluster: Cluster,
    snapshot: ClusterSnapshot,
    wanted: Desired,
    unsupported: Sequence[str],
    groups: Sequence[Group],
    now: float,
) -> Plan:
    """Return the plan of a cluster that was read completely."""
    known = snapshot.known_secrets or {}
    divided = [each.name for each in groups_with_old_secret(groups, wanted.secret, known)]
    rolled = roll(groups, wanted.unsettled.union(divided), now)
    rotation = rotate(snapshot, wanted.secret, groups)
    is_still = not rolled.outdated and not wanted.unsettled
    roles = assign_roles(cluster.spec, groups, now) if is_still else Roles()
    actions: tuple[Action, ...] = (
        *_holding(cluster, snapshot),
        *wanted.actions,
        *roles.requests,
        *rolled.actions,
        *rotation.actions,
    )
    waits = (*wanted.waits, *rolled.waits, *roles.waits, *rotation.waits)
    is_busy = bool(actions) or any(each.lease and each.lease.is_switching for each in groups)
    remakes = () if is_busy else wanted.remakes[:1]
    actions += remakes
    waits += _waits_of_remakes(wanted.remakes[len(remakes) :])
    if rolled.outdated:
        waits += tuple(Wait(f"restarts of {each}", _DIVIDED) for each in divided)
    facts = Facts(
        cluster,
        snapshot,
        groups,
        find_obstacles(cluster, groups, snapshot),
        actions,
        () if cluster.spec.paused else waits,
        rolled.outdated,
        unsupported,
        ready_name_servers(snapshot.pods or ()),
        rotation.status,
    )
    done = _carried_out(cluster, actions)
    return Plan(
        done, facts.waits, notes(facts, done), cluster_status(facts, now), _requeue(facts, done)
    )


def _waits_of_remakes(remakes: Sequence[Delete]) -> tuple[Wait, ...]:
    return tuple(
        Wait(f"Service {each.ref.name}", f"{each.reason}; after all other actions")
        for each in remakes
    )


def _holding(cluster: Cluster, snapshot: ClusterSnapshot) -> list[Action]:
    """Add or remove the finalizer, as the deletion policy demands."""
    deletes = cluster.spec.storage.on_cluster_deletion is OnClusterDeletion.DELETE
    change = finalizer_change(snapshot.resource, deletes_volumes=deletes)
    return [] if change is None else [change]


def _carried_out(cluster: Cluster, actions: Sequence[Action]) -> tuple[Action, ...]:
    return () if cluster.spec.paused else tuple(actions)


def _requeue(facts: Facts, done: Sequence[Action]) -> float | None:
    """Return when to reconcile again. Leases are not watched, so groups that change are read again
    soon."""
    is_switching = any(each.lease is not None and each.lease.is_switching for each in facts.groups)
    if done or is_switching or facts.outdated or facts.masterless or facts.forming:
        return BUSY_SECONDS
    if facts.waits or any(not group.is_settled for group in facts.groups):
        return WAITING_SECONDS
    return None


def _cluster(snapshot: ClusterSnapshot, spec: BrokerClusterSpec) -> Cluster:
    resource = snapshot.resource
    names = ClusterNames(name_of(resource), text_at(resource, "metadata", "namespace"))
    generation = value_at(resource, "metadata", "generation")
    return Cluster(
        names,
        uid_of(resource),
        generation if isinstance(generation, int) else 0,
        spec,
        snapshot.defaults,
    )


def _is_read(snapshot: ClusterSnapshot, sizes: Sequence[GroupSize]) -> bool:
    """Whether all parts were read that the status describes."""
    return (
        snapshot.volume_claims is not None
        and snapshot.nodes is not None
        and snapshot.leases is not None
        and all(size.name in snapshot.leases for size in sizes)
    )
