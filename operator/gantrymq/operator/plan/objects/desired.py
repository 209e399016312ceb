"""Compares all objects of a cluster with what they should be, in the order of their creation.

The Service of a group comes first: its clusterIP is part of the brokers' configuration, so the
StatefulSet waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.plan.actions import Action, Delete, Json, Wait
from gantrymq.operator.plan.objects import access, budgets, services
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.fields import label_of
from gantrymq.operator.plan.objects.groups import GroupSize, group_blueprint
from gantrymq.operator.plan.objects.kinds import SECRET
from gantrymq.operator.plan.objects.names import BROKER, COMPONENT, GROUP_LABEL, NAME_SERVER
from gantrymq.operator.plan.objects.pods.name_servers import name_server_blueprint
from gantrymq.operator.plan.objects.pods.replication_tls import next_mode
from gantrymq.operator.plan.objects.pods.workloads import Blueprint, surplus_entries, workload
from gantrymq.operator.plan.objects.repair import Repairs
from gantrymq.operator.plan.objects.secret import request_of
from gantrymq.operator.plan.objects.security_secrets import want_security
from gantrymq.operator.plan.snapshot import ClusterSnapshot
from gantrymq.operator.plan.view.observed import Observed

# The API server names this field if it refuses a clusterIP.
_ADDRESS_REFUSED: Final = "spec.clusterIP"


@final
@dataclass(frozen=True, slots=True)
class Desired:
    """The actions that bring the owned objects to what the spec asks for."""

    actions: tuple[Action, ...]
    waits: tuple[Wait, ...]
    unsettled: frozenset[str]
    """Groups whose StatefulSet or ConfigMap is to change, or does not exist yet."""
    secret: Json | None
    """The existing replication Secret."""
    remakes: tuple[Delete, ...]
    """Deletions of Services that have to be created again, for a time without other actions."""


def desired(
    cluster: Cluster,
    sizes: Sequence[GroupSize],
    observed: Observed,
    snapshot: ClusterSnapshot,
    now: float,
) -> Desired:
    """Compare all owned objects with what they should be."""
    repairs = Repairs(observed, now)
    for size in sizes:
        address = _address(size, cluster, observed, snapshot)
        repairs.want(services.group_service(cluster, size.name, address))
        repairs.want(services.members_service(cluster, size.name))
    repairs.want(services.name_server_pods_service(cluster))
    repairs.want(services.name_server_service(cluster))
    _want_access(cluster, sizes, repairs, snapshot)
    # A pod does not start without its Secrets, so no pod is changed while a Secret is missing.
    missing = want_security(cluster, repairs, snapshot.new_security)
    repairs.want(budgets.name_server_budget(cluster))
    for size in sizes:
        repairs.want(budgets.group_budget(cluster, size.name))
    if not missing:
        _want_name_servers(cluster, repairs, snapshot)
    unsettled = [
        size.name for size in sizes if missing or _want_group(cluster, size, repairs, snapshot)
    ]
    return Desired(
        tuple(repairs.actions),
        tuple(repairs.waits),
        frozenset(unsettled),
        observed.find(SECRET, cluster.names.secret),
        tuple(repairs.remakes),
    )


def _address(
    size: GroupSize, cluster: Cluster, observed: Observed, snapshot: ClusterSnapshot
) -> str:
    """Return the clusterIP to request: the current one, or the former one unless it is refused."""
    service = cluster.names.group(size.name)
    is_refused = _ADDRESS_REFUSED in snapshot.refusal and service in snapshot.refusal
    return observed.address(service) or ("" if is_refused else size.address)


def _want_access(
    cluster: Cluster, sizes: Sequence[GroupSize], repairs: Repairs, snapshot: ClusterSnapshot
) -> None:
    repairs.want(access.service_account(cluster))
    repairs.want(access.role(cluster, [size.name for size in sizes]))
    repairs.want(access.role_binding(cluster))
    if repairs.observed.find(SECRET, cluster.names.secret) is not None:
        # Only rotation.py changes its content, step by step, because members authenticate by it.
        repairs.own(cluster.owned(SECRET, cluster.names.secret, BROKER))
    elif snapshot.new_secret:
        request = request_of(snapshot.resource)
        repairs.want(access.replication_secret(cluster, snapshot.new_secret, request))
    else:
        why = "the snapshot has no random text for it"
        repairs.waits.append(Wait(f"Secret {cluster.names.secret}", why))


def _want_name_servers(cluster: Cluster, repairs: Repairs, snapshot: ClusterSnapshot) -> None:
    service = cluster.names.name_server_service
    address = repairs.observed.address(service)
    if not address:
        what = f"StatefulSet {cluster.names.name_servers}"
        repairs.waits.append(Wait(what, f"Service {service} has no clusterIP yet"))
        return
    pods = _pods(snapshot, NAME_SERVER, "")
    _want_workload(cluster, name_server_blueprint(cluster, address), repairs, pods)


def _want_group(
    cluster: Cluster, size: GroupSize, repairs: Repairs, snapshot: ClusterSnapshot
) -> bool:
    """Plan the group's workload; return whether it is to change, or waits."""
    name = cluster.names.group(size.name)
    address = repairs.observed.address(name)
    if not address:
        repairs.waits.append(Wait(f"StatefulSet {name}", f"Service {name} has no clusterIP yet"))
        return True
    pods, observed = _pods(snapshot, BROKER, size.name), repairs.observed
    found, config = observed.stateful_set(name), observed.config_map(name)
    links = next_mode(cluster.spec, found, config, pods)
    blueprint = group_blueprint(cluster, size.name, size.members, address, links)
    return _want_workload(cluster, blueprint, repairs, pods)


def _want_workload(
    cluster: Cluster, blueprint: Blueprint, repairs: Repairs, pods: list[Json] | None
) -> bool:
    found = repairs.observed.stateful_set(blueprint.name)
    found_config = repairs.observed.config_map(blueprint.name)
    wanted = workload(cluster, blueprint, found, found_config, pods)
    why = f"{blueprint.name}: the resource changed {wanted.changed}" if wanted.changed else ""
    surplus: list[str] = []
    if found_config is not None and pods is not None:
        surplus = surplus_entries(wanted.config_map, found_config, blueprint.config_name)
    is_config_new = repairs.want(wanted.config_map, why)
    if surplus and not is_config_new:
        repairs.replace(wanted.config_map, f"no pod reads {', '.join(surplus)} any more")
    return repairs.want(wanted.stateful_set, why) or is_config_new


def _pods(snapshot: ClusterSnapshot, component: str, group: str) -> list[Json] | None:
    if snapshot.pods is None:
        return None
    return [
        pod
        for pod in snapshot.pods
        if label_of(pod, COMPONENT) == component and label_of(pod, GROUP_LABEL) == group
    ]
