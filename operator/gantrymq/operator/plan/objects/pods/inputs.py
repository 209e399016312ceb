"""Collects the values of a spec that decide the pods of a group, or of the name servers.

The StatefulSet stores the digests of these inputs. A pod template is rebuilt only if they change,
so a new version of the operator restarts no pod. Therefore the dictionaries below must not change
for a resource that does not change: a field of a later version is left out while it has its
default. The tests contain the digests of known resources.
"""

from __future__ import annotations

from dataclasses import asdict

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.pods.replication_tls import LinkTls, link_settings
from gantrymq.operator.plan.objects.security import security_inputs
from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec
from gantrymq.operator.resources.cluster.pods import ContainerResources, LogFormat


def broker_inputs(cluster: Cluster, group: str, members: int, address: str, links: LinkTls) -> Json:
    """Return the inputs of a group's pods. `address` is the clusterIP of the group's Service."""
    spec = cluster.spec
    tls = link_settings(links, spec)
    return {
        **({"replicationTls": tls} if tls else {}),
        **security_inputs(cluster),
        **_shared(spec),
        "address": address,
        "config": dict(spec.config),
        "flush": spec.flush.value,
        "group": group,
        "image": spec.image.broker or "",
        "members": members,
        "minInSync": required_in_sync(spec, members),
        "nameServers": spec.name_servers,
        "replication": spec.replication.value,
        "resources": _resources(spec.resources.broker),
        "zones": spec.scheduling.zones.value,
    }


def name_server_inputs(cluster: Cluster, address: str) -> Json:
    """Return the inputs of the name servers' pods. `address` is the clusterIP of their Service."""
    spec = cluster.spec
    return {
        **security_inputs(cluster),
        **_shared(spec),
        "config": dict(spec.name_server_config),
        "image": spec.image.name_server or "",
        "isIpv6": ":" in address,
        "resources": _resources(spec.resources.name_server),
        "zones": spec.scheduling.zones.value,
    }


def required_in_sync(spec: BrokerClusterSpec, members: int) -> int:
    """Return how many members must have a message before a group of this size acknowledges it."""
    return min(spec.required_in_sync, members)


def _shared(spec: BrokerClusterSpec) -> Json:
    log_format = spec.pods.log_format
    return {
        **({} if log_format is LogFormat.CONSOLE else {"logFormat": log_format.value}),
        "annotations": dict(spec.pods.annotations),
        "grace": spec.pods.termination_grace_period_seconds,
        "labels": dict(spec.pods.labels),
        "nodeSelector": dict(spec.scheduling.node_selector),
        "priorityClass": spec.scheduling.priority_class_name or "",
        "pullPolicy": spec.image.pull_policy.value if spec.image.pull_policy else "",
        "pullSecrets": list(spec.image.pull_secrets),
        "tolerations": [asdict(each) for each in spec.scheduling.tolerations],
    }


def _resources(resources: ContainerResources) -> Json:
    return {"requests": dict(resources.requests), "limits": dict(resources.limits)}
