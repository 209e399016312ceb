"""Derives names and labels of a cluster's objects, as the table in docs/design/operator.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.plan.actions import Json

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
INSTANCE: Final = "app.kubernetes.io/instance"
COMPONENT: Final = "app.kubernetes.io/component"
GROUP_LABEL: Final = "gantrymq.dev/group"
PROFILE: Final = "gantrymq.dev/security-profile"
"""Annotation of the StatefulSets of a secure cluster: the profile that it was created with."""
BROKER: Final = "broker"
NAME_SERVER: Final = "nameserver"
STORE: Final = "store"
"""The claim template of a group's StatefulSet, and the volume of a broker's pod."""

BROKER_PORT: Final = 10911
FAST_PORT: Final = 10909
HA_PORT: Final = 10912
BROKER_METRICS_PORT: Final = 5557
NAME_SERVER_PORT: Final = 9876
NAME_SERVER_METRICS_PORT: Final = 5558


@final
@dataclass(frozen=True, slots=True)
class ClusterNames:
    """The names of the objects of one cluster in its namespace."""

    cluster: str
    namespace: str

    @property
    def name_servers(self) -> str:
        """StatefulSet, headless Service, ConfigMap and PodDisruptionBudget of the name servers."""
        return f"{self.cluster}-namesrv"

    @property
    def name_server_service(self) -> str:
        """The Service that clients inside of the Kubernetes cluster may use."""
        return f"{self.cluster}-nameserver"

    @property
    def brokers(self) -> str:
        """ServiceAccount, Role and RoleBinding of the brokers."""
        return f"{self.cluster}-broker"

    @property
    def secret(self) -> str:
        return f"{self.cluster}-replication"

    @property
    def accounts(self) -> str:
        """The Secret with all accounts, unless the resource names another."""
        return f"{self.cluster}-accounts"

    @property
    def client(self) -> str:
        """The Secret with the account of applications."""
        return f"{self.cluster}-client"

    @property
    def tls(self) -> str:
        """The Secret with the certificate of the servers, unless the resource names another."""
        return f"{self.cluster}-tls"

    @property
    def authority(self) -> str:
        """The ConfigMap with the certificate of the authority, which clients trust."""
        return f"{self.cluster}-ca"

    def group(self, group: str) -> str:
        """StatefulSet, group Service, Lease, ConfigMap and PodDisruptionBudget of a group."""
        return f"{self.cluster}-{group}"

    def members(self, group: str) -> str:
        """The headless Service of a group's members."""
        return f"{self.group(group)}-members"

    def slice(self, group: str) -> str:
        """The EndpointSlice that the master of a group writes."""
        return f"{self.group(group)}-master"

    def pod(self, group: str, member: int) -> str:
        return f"{self.group(group)}-{member - 1}"

    def claim(self, group: str, member: int) -> str:
        return f"{STORE}-{self.pod(group, member)}"

    def member_address(self, group: str, member: int) -> str:
        """Return the address at which the other members of the group reach a member."""
        host = f"{self.pod(group, member)}.{self.members(group)}.{self.namespace}.svc"
        return f"{host}:{HA_PORT}"

    def name_server_addresses(self, count: int) -> str:
        """Return all name servers in the format of namesrvAddr."""
        hosts = (
            f"{self.name_servers}-{index}.{self.name_servers}.{self.namespace}.svc"
            for index in range(count)
        )
        return ";".join(f"{host}:{NAME_SERVER_PORT}" for host in hosts)

    def labels(self, component: str, group: str = "") -> Json:
        """Return the labels of an owned object."""
        of_group = {GROUP_LABEL: group} if group else {}
        return {
            MANAGED_BY: "gantry",
            "app.kubernetes.io/name": "gantry",
            **self.selector(component),
            **of_group,
        }

    def selector(self, component: str, group: str = "") -> Json:
        """Return the labels that select the pods of a component, or of a group."""
        of_group = {GROUP_LABEL: group} if group else {}
        return {INSTANCE: self.cluster, COMPONENT: component, **of_group}
