"""Makes ServiceAccount, Role, RoleBinding and replication Secret of a cluster's brokers.

A broker may touch the Leases and EndpointSlices of its own cluster only. `create` cannot be
restricted to names: the API server does not know the name of an object before it exists. Nor can
`list`: a broker may read all EndpointSlices of the namespace, which hold addresses of pods.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.kinds import ROLE, ROLE_BINDING, SECRET, SERVICE_ACCOUNT
from gantrymq.operator.plan.objects.names import BROKER
from gantrymq.operator.plan.objects.secret import ROTATION

SECRET_ENTRY: Final = "secret"  # noqa: S105 - the name of an entry
"""The entry of the Secret, and the name of the file that members read."""
_LEASES: Final = "coordination.k8s.io"
_SLICES: Final = "discovery.k8s.io"


def service_account(cluster: Cluster) -> Json:
    return cluster.owned(SERVICE_ACCOUNT, cluster.names.brokers, BROKER)


def role(cluster: Cluster, groups: Sequence[str]) -> Json:
    """Return the Role of the brokers of these groups."""
    leases = [cluster.names.group(group) for group in groups]
    slices = [cluster.names.slice(group) for group in groups]
    services = [cluster.names.group(group) for group in groups]
    rules = [
        _rule(_LEASES, "leases", ["get", "update"], leases),
        _rule(_LEASES, "leases", ["create"]),
        # A broker deletes an EndpointSlice of the other address family, and creates it again.
        _rule(_SLICES, "endpointslices", ["get", "update", "delete"], slices),
        # Names cannot restrict a list either. Brokers report slices that lead to other addresses.
        _rule(_SLICES, "endpointslices", ["create", "list"]),
        # OpenShift requires this right if the addresses are those of pods.
        _rule(_SLICES, "endpointslices/restricted", ["create"]),
        # Brokers report a group Service that leads to other addresses.
        _rule("", "services", ["get"], services),
    ]
    return cluster.owned(ROLE, cluster.names.brokers, BROKER, rules=rules)


def role_binding(cluster: Cluster) -> Json:
    name = cluster.names.brokers
    return cluster.owned(
        ROLE_BINDING,
        name,
        BROKER,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        subjects=[{"kind": "ServiceAccount", "name": name, "namespace": cluster.names.namespace}],
    )


def replication_secret(cluster: Cluster, text: str, request: str = "") -> Json:
    """Return the Secret by which members authenticate each other. It is created once, because
    members with another secret could not join. It also fulfils an earlier `request` for a new
    secret."""
    data = {SECRET_ENTRY: base64.b64encode(text.encode()).decode()}
    notes = {ROTATION: request} if request else None
    return cluster.owned(
        SECRET, cluster.names.secret, BROKER, annotations=notes, type="Opaque", data=data
    )


def _rule(group: str, resource: str, verbs: list[str], names: list[str] | None = None) -> Json:
    rule: Json = {"apiGroups": [group], "resources": [resource], "verbs": verbs}
    if names:
        rule["resourceNames"] = names
    return rule
