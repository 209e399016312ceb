"""Reads the snapshot of one cluster for `kubectl gantry plan`, with the rights of the user.

The operator reads the same from its caches. A part that the user may not read is None, and the plan
then says so. Reports of masters are left out, because a plan uses them only to show lag.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gantrymq.operator.ctl.access import LEASES, AccessError, Collection, Json, KubeAccess
from gantrymq.operator.kube.watch import reducers
from gantrymq.operator.plan.objects.names import INSTANCE, MANAGED_BY, ClusterNames
from gantrymq.operator.plan.snapshot import ClusterSnapshot, NewSecurity, OperatorDefaults
from gantrymq.operator.resources.names import group_name
from gantrymq.operator.resources.security import SecurityProfile

_OWNED: Final[Mapping[str, Collection]] = {
    "StatefulSet": Collection("/apis/apps/v1", "statefulsets"),
    "Service": Collection("/api/v1", "services"),
    "ConfigMap": Collection("/api/v1", "configmaps"),
    "Secret": Collection("/api/v1", "secrets"),
    "PodDisruptionBudget": Collection("/apis/policy/v1", "poddisruptionbudgets"),
    "ServiceAccount": Collection("/api/v1", "serviceaccounts"),
    "Role": Collection("/apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": Collection("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
}
_PODS: Final = Collection("/api/v1", "pods")
_CLAIMS: Final = Collection("/api/v1", "persistentvolumeclaims")
_NODES: Final = Collection("/api/v1", "nodes")
_CLASSES: Final = Collection("/apis/storage.k8s.io/v1", "storageclasses")
_NAMESPACES: Final = Collection("/api/v1", "namespaces")
_DEPLOYMENTS: Final = Collection("/apis/apps/v1", "deployments")
_OPERATOR: Final = f"app.kubernetes.io/component=operator,{MANAGED_BY}"
_PROFILE: Final = "GANTRY_OPERATOR_SECURITY_PROFILE"
_IMAGE: Final = "GANTRY_OPERATOR_{}_IMAGE"
UNKNOWN_IMAGE: Final = "(the operator's default)"
_SECRET: Final = "0" * 64
"""A placeholder for the random secret of a new cluster: this plan is shown, never carried out."""
_NEW: Final = NewSecurity(_SECRET, _SECRET, _SECRET, _SECRET, _SECRET, _SECRET)
"""A placeholder for new accounts and a new certificate."""


def read_snapshot(access: KubeAccess, cluster: Json) -> ClusterSnapshot:
    """Read all objects that the plan of this cluster needs."""
    namespace, name = cluster["metadata"]["namespace"], cluster["metadata"]["name"]
    selector = f"{INSTANCE}={name},{MANAGED_BY}=gantry"
    owned = {kind: _some(access, where, namespace, selector) for kind, where in _OWNED.items()}
    is_read = all(items is not None for items in owned.values())
    objects = {kind: items or () for kind, items in owned.items()} if is_read else None
    if objects is not None:
        secrets = (*objects["Secret"], *_named_secrets(access, cluster))
        objects["Secret"] = tuple(map(reducers.secret, secrets))
    nodes = _some(access, _NODES, "")
    classes = _some(access, _CLASSES, "")
    found = access.get(_NAMESPACES, "", namespace)
    return ClusterSnapshot(
        resource=cluster,
        namespace_is_terminating=bool(found and found["metadata"].get("deletionTimestamp")),
        defaults=_defaults(access),
        objects=objects,
        pods=_some(access, _PODS, namespace, selector),
        volume_claims=_some(access, _CLAIMS, namespace, f"{INSTANCE}={name}"),
        leases=_leases(access, cluster),
        nodes=None if nodes is None else {each["metadata"]["name"]: each for each in nodes},
        storage_classes=None if classes is None
        else frozenset(each["metadata"]["name"] for each in classes),
        new_secret=_SECRET,
        new_security=_NEW,
    )  # fmt: skip


def _some(
    access: KubeAccess, where: Collection, namespace: str, selector: str = ""
) -> tuple[Json, ...] | None:
    """Return all objects of a kind; None if the user may not list them."""
    try:
        return tuple(access.objects(where, namespace, selector))
    except AccessError:
        return None


def _named_secrets(access: KubeAccess, cluster: Json) -> list[Json]:
    """Return the Secrets that the resource names."""
    security = cluster["spec"].get("security") or {}
    names = [security[key] for key in ("accountsSecret", "tlsSecret") if security.get(key)]
    namespace = cluster["metadata"]["namespace"]
    found = [access.get(_OWNED["Secret"], namespace, name) for name in names]
    return [each for each in found if each is not None]


def _leases(access: KubeAccess, cluster: Json) -> dict[str, Json | None]:
    """Return the Lease of each group that the resource or its status names."""
    metadata = cluster["metadata"]
    names = ClusterNames(metadata["name"], metadata["namespace"])
    groups = {group_name(index) for index in range(cluster["spec"].get("groups", 1))}
    groups |= {group["name"] for group in (cluster.get("status") or {}).get("groups", [])}
    found: dict[str, Json | None] = {}
    for group in sorted(groups):
        found[group] = access.get(LEASES, metadata["namespace"], names.group(group))
    return found


def _defaults(access: KubeAccess) -> OperatorDefaults:
    """Return the images that the operator uses for new groups, if the user may read them."""
    deployments = _some(access, _DEPLOYMENTS, "", _OPERATOR) or ()
    values = {
        variable["name"]: variable.get("value", "")
        for deployment in deployments
        for container in deployment["spec"]["template"]["spec"]["containers"]
        for variable in container.get("env", [])
    }
    return OperatorDefaults(
        values.get(_IMAGE.format("BROKER"), UNKNOWN_IMAGE),
        values.get(_IMAGE.format("NAME_SERVER"), UNKNOWN_IMAGE),
        security_profile=SecurityProfile(values.get(_PROFILE) or SecurityProfile.OPEN),
    )
