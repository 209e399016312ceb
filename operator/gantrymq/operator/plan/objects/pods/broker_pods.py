"""Builds the pod template of a group: one broker with its volume and configuration."""

from __future__ import annotations

from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.names import (
    BROKER,
    BROKER_METRICS_PORT,
    BROKER_PORT,
    FAST_PORT,
    HA_PORT,
    STORE,
)
from gantrymq.operator.plan.objects.pods.broker_config import SECRET_FOLDER
from gantrymq.operator.plan.objects.pods.pod_settings import (
    HOST,
    TMP,
    container_security,
    environment,
    image_fields,
    node_spread,
    pod_fields,
    probes,
    resource_fields,
    zone_spread,
)
from gantrymq.operator.plan.objects.security import security_mounts, security_volumes
from gantrymq.operator.resources.cluster.pods import Zones

CONFIG: Final = "config"
"""The volume with the configuration file."""
FOLDER: Final = "/etc/gantry"
FILE: Final = "broker.conf"

_PORTS: Final = {
    "broker": BROKER_PORT,
    "fast": FAST_PORT,
    "ha": HA_PORT,
    "metrics": BROKER_METRICS_PORT,
}
_WHEN_UNSATISFIABLE: Final = {Zones.PREFER: "ScheduleAnyway", Zones.REQUIRE: "DoNotSchedule"}


def broker_template(cluster: Cluster, group: str, image: str, config_key: str) -> Json:
    """Return the template. `config_key` is the entry of the group's ConfigMap that pods read."""
    names, pods = cluster.names, cluster.spec.pods
    metadata: Json = {"labels": {**pods.labels, **names.labels(BROKER, group)}}
    if pods.annotations:
        metadata["annotations"] = dict(pods.annotations)
    return {
        "metadata": metadata,
        "spec": {
            **pod_fields(cluster),
            "serviceAccountName": names.brokers,
            "affinity": _affinity(cluster, group),
            "topologySpreadConstraints": _spread(cluster, group),
            "containers": [_container(cluster, image)],
            "volumes": _volumes(cluster, group, config_key),
        },
    }


def _container(cluster: Cluster, image: str) -> Json:
    arguments = ["broker", "--guarded", "-c", f"{FOLDER}/{FILE}", "--data", "/data"]
    mounts = {STORE: "/data", CONFIG: FOLDER, "secret": SECRET_FOLDER, TMP: "/tmp"}  # noqa: S108
    mounts |= security_mounts(cluster)
    return {
        "name": BROKER,
        **image_fields(cluster, image),
        "command": ["gantry", *arguments],
        "env": [
            _from_pod("GANTRY_BROKER_IP1", "status.podIP"),
            _from_pod("GANTRY_BROKER_IP2", "status.podIP"),
            _from_pod("GANTRY_NODE_NAME", "spec.nodeName"),
            _from_pod("GANTRY_POD_NAME", "metadata.name"),
            _from_pod("GANTRY_POD_UID", "metadata.uid"),
            *environment(cluster),
        ],
        "ports": [
            {"name": name, "containerPort": port, "protocol": "TCP"}
            for name, port in _PORTS.items()
        ],
        **probes("metrics"),
        # With it the status of the pod says why a container ended.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        **resource_fields(cluster.spec.resources.broker),
        "securityContext": container_security(),
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
    }


def _from_pod(variable: str, field: str) -> Json:
    return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": field}}}


def _volumes(cluster: Cluster, group: str, config_key: str) -> list[Json]:
    """Return the volumes apart from `store`, which comes from the claim template."""
    names = cluster.names
    config = {"name": names.group(group), "items": [{"key": config_key, "path": FILE}]}
    return [
        {"name": CONFIG, "configMap": config},
        {"name": "secret", "secret": {"secretName": names.secret, "defaultMode": 0o440}},
        {"name": TMP, "emptyDir": {}},
        *security_volumes(cluster),
    ]


def _affinity(cluster: Cluster, group: str) -> Json:
    """Keep two members of a group from sharing a node."""
    term = {
        "topologyKey": HOST,
        "labelSelector": {"matchLabels": cluster.names.selector(BROKER, group)},
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _spread(cluster: Cluster, group: str) -> list[Json]:
    """Spread members of a group over zones, and the cluster's brokers over nodes if possible."""
    names, zones = cluster.names, cluster.spec.scheduling.zones
    over_nodes = node_spread(names.selector(BROKER))
    if zones is Zones.IGNORE:
        return [over_nodes]
    return [zone_spread(names.selector(BROKER, group), _WHEN_UNSATISFIABLE[zones]), over_nodes]
