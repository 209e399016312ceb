"""Lists the kinds of a cluster's objects, each with its apiVersion."""

from __future__ import annotations

from typing import Final

STATEFUL_SET: Final = ("apps/v1", "StatefulSet")
SERVICE: Final = ("v1", "Service")
CONFIG_MAP: Final = ("v1", "ConfigMap")
SECRET: Final = ("v1", "Secret")
DISRUPTION_BUDGET: Final = ("policy/v1", "PodDisruptionBudget")
SERVICE_ACCOUNT: Final = ("v1", "ServiceAccount")
ROLE: Final = ("rbac.authorization.k8s.io/v1", "Role")
ROLE_BINDING: Final = ("rbac.authorization.k8s.io/v1", "RoleBinding")

POD: Final = ("v1", "Pod")
CLAIM: Final = ("v1", "PersistentVolumeClaim")
LEASE: Final = ("coordination.k8s.io/v1", "Lease")
ENDPOINT_SLICE: Final = ("discovery.k8s.io/v1", "EndpointSlice")
