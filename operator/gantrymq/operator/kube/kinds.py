"""Lists the kinds of objects that the operator uses, with their paths in the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final
from urllib.parse import quote

from gantrymq.operator.plan.actions import Json, ObjectRef


@final
@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of objects in the API."""

    api_version: str
    name: str
    plural: str
    is_namespaced: bool = True

    def collection(self, namespace: str = "") -> str:
        """Return the path of the list, of all namespaces if `namespace` is empty."""
        root = "/api/v1" if self.api_version == "v1" else f"/apis/{self.api_version}"
        within = f"/namespaces/{quote(namespace)}" if namespace and self.is_namespaced else ""
        return f"{root}{within}/{self.plural}"

    def path(self, namespace: str, name: str) -> str:
        """Return the path of one object."""
        return f"{self.collection(namespace)}/{quote(name)}"


BROKER_CLUSTER: Final = Kind("gantrymq.dev/v1", "BrokerCluster", "brokerclusters")
CONFIG_MAP: Final = Kind("v1", "ConfigMap", "configmaps")
CRD: Final = Kind(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False
)
ENDPOINT_SLICE: Final = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
EVENT: Final = Kind("v1", "Event", "events")
LEASE: Final = Kind("coordination.k8s.io/v1", "Lease", "leases")
NAMESPACE: Final = Kind("v1", "Namespace", "namespaces", False)
NODE: Final = Kind("v1", "Node", "nodes", False)
PERSISTENT_VOLUME_CLAIM: Final = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
POD: Final = Kind("v1", "Pod", "pods")
POD_DISRUPTION_BUDGET: Final = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
ROLE: Final = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
ROLE_BINDING: Final = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
SECRET: Final = Kind("v1", "Secret", "secrets")
SERVICE: Final = Kind("v1", "Service", "services")
SERVICE_ACCOUNT: Final = Kind("v1", "ServiceAccount", "serviceaccounts")
STATEFUL_SET: Final = Kind("apps/v1", "StatefulSet", "statefulsets")
STORAGE_CLASS: Final = Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", False)
TOPIC: Final = Kind("gantrymq.dev/v1", "Topic", "topics")

_KINDS: Final = {
    (kind.api_version, kind.name): kind
    for kind in (
        BROKER_CLUSTER, CONFIG_MAP, CRD, ENDPOINT_SLICE, EVENT, LEASE, NAMESPACE, NODE,
        PERSISTENT_VOLUME_CLAIM, POD, POD_DISRUPTION_BUDGET, ROLE, ROLE_BINDING, SECRET, SERVICE,
        SERVICE_ACCOUNT, STATEFUL_SET, STORAGE_CLASS, TOPIC,
    )
}  # fmt: skip


def kind_named(api_version: str, name: str) -> Kind:
    """Return the kind of this name. A KeyError means that the plan has a bug."""
    return _KINDS[(api_version, name)]


def path_of_ref(ref: ObjectRef) -> str:
    return kind_named(ref.api_version, ref.kind).path(ref.namespace, ref.name)


def path_of_body(body: Json) -> str:
    """Return the path of the object that this body describes."""
    metadata = body["metadata"]
    kind = kind_named(body["apiVersion"], body["kind"])
    return kind.path(metadata.get("namespace", ""), metadata["name"])
