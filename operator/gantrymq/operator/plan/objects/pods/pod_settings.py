"""Builds the parts that the pods of brokers and name servers share: security, probes, placement.

The security contexts satisfy the restricted Pod Security level.
"""

from __future__ import annotations

from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.resources.cluster.pods import (
    ContainerResources,
    LogFormat,
    PullPolicy,
    Toleration,
)

USER_ID: Final = 10911
"""The user of the images; it owns the files in the volumes."""
HOST: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
TMP: Final = "tmp"

# Recovery after a power cut reads the log's tail; a log of many terabytes takes minutes.
_STARTUP_SECONDS: Final = 1800

# A StatefulSet does not replace a pod on a lost node before the node object is deleted, and on a
# node that comes back the broker should still run. So eviction helps in neither case.
_NODE_FAILURES: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def pod_security() -> Json:
    return {
        "runAsNonRoot": True,
        "runAsUser": USER_ID,
        "runAsGroup": USER_ID,
        "fsGroup": USER_ID,
        # Without it the kubelet changes the owner of all files of a volume at each start.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security() -> Json:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def probes(port: str) -> Json:
    """Return the probes. Readiness serves clients and drains; liveness restarts a process whose
    event loop has stopped."""
    return {
        "startupProbe": _probe("live", port, 1, _STARTUP_SECONDS),
        "readinessProbe": _probe("ready", port, 2, 2),
        "livenessProbe": _probe("live", port, 10, 6),
    }


def _probe(page: str, port: str, period_seconds: int, failures: int) -> Json:
    return {
        "httpGet": {"path": f"/health/{page}", "port": port},
        "periodSeconds": period_seconds,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def environment(cluster: Cluster) -> list[Json]:
    """Return the environment variables of all containers; none if the log format is the default."""
    log_format = cluster.spec.pods.log_format
    if log_format is LogFormat.CONSOLE:
        return []
    return [{"name": "GANTRY_LOG_FORMAT", "value": log_format.value}]


def resource_fields(resources: ContainerResources) -> Json:
    """Return the container's `resources`, without empty parts."""
    parts = {"requests": dict(resources.requests), "limits": dict(resources.limits)}
    found = {key: value for key, value in parts.items() if value}
    return {"resources": found} if found else {}


def image_fields(cluster: Cluster, image: str) -> Json:
    policy = cluster.spec.image.pull_policy
    shown = policy.value if policy else PullPolicy(cluster.defaults.image_pull_policy).value
    return {"image": image, "imagePullPolicy": shown}


def pod_fields(cluster: Cluster) -> Json:
    """Return the fields of a pod's spec that are the same for all pods of the cluster."""
    spec = cluster.spec
    scheduling = spec.scheduling
    secrets = spec.image.pull_secrets or cluster.defaults.image_pull_secrets
    optional: Json = {
        "imagePullSecrets": [{"name": name} for name in secrets],
        "nodeSelector": dict(scheduling.node_selector),
        "priorityClassName": scheduling.priority_class_name,
    }
    return {
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "terminationGracePeriodSeconds": spec.pods.termination_grace_period_seconds,
        "tolerations": tolerations(cluster),
        **{key: value for key, value in optional.items() if value},
    }


def tolerations(cluster: Cluster) -> list[Json]:
    """Return the user's tolerations, and those of nodes that fail."""
    own = [{"key": key, "operator": "Exists", "effect": "NoExecute"} for key in _NODE_FAILURES]
    return [_toleration(each) for each in cluster.spec.scheduling.tolerations] + own


def _toleration(toleration: Toleration) -> Json:
    fields: Json = {
        "key": toleration.key,
        "operator": toleration.operator.value,
        "value": toleration.value,
        "effect": toleration.effect.value if toleration.effect else "",
    }
    found = {key: value for key, value in fields.items() if value}
    if toleration.toleration_seconds is not None:
        found["tolerationSeconds"] = toleration.toleration_seconds
    return found


def zone_spread(selector: Json, when_unsatisfiable: str) -> Json:
    return _spread(ZONE, selector, when_unsatisfiable)


def node_spread(selector: Json) -> Json:
    return _spread(HOST, selector, "ScheduleAnyway")


def _spread(topology: str, selector: Json, when_unsatisfiable: str) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": when_unsatisfiable,
        "labelSelector": {"matchLabels": selector},
    }
