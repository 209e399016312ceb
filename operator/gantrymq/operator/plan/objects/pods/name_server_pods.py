"""Builds the pod template of the name servers, which keep no state that outlives a pod."""

from __future__ import annotations

from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.names import (
    NAME_SERVER,
    NAME_SERVER_METRICS_PORT,
    NAME_SERVER_PORT,
)
from gantrymq.operator.plan.objects.pods.broker_config import NAME_SERVER_DATA
from gantrymq.operator.plan.objects.pods.broker_pods import CONFIG, FOLDER
from gantrymq.operator.plan.objects.pods.pod_settings import (
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

FILE: Final = "namesrv.conf"
_DATA: Final = "data"


def name_server_template(cluster: Cluster, image: str, config_key: str) -> Json:
    """Return the template. `config_key` is the entry of the ConfigMap that the pods read."""
    names, pods = cluster.names, cluster.spec.pods
    selector = names.selector(NAME_SERVER)
    metadata: Json = {"labels": {**pods.labels, **names.labels(NAME_SERVER)}}
    if pods.annotations:
        metadata["annotations"] = dict(pods.annotations)
    config = {"name": names.name_servers, "items": [{"key": config_key, "path": FILE}]}
    spreads = [node_spread(selector)]
    if cluster.spec.scheduling.zones is not Zones.IGNORE:
        # One name server is enough, so several zones are preferred and never required.
        spreads.insert(0, zone_spread(selector, "ScheduleAnyway"))
    return {
        "metadata": metadata,
        "spec": {
            **pod_fields(cluster),
            "automountServiceAccountToken": False,
            "topologySpreadConstraints": spreads,
            "containers": [_container(cluster, image)],
            "volumes": [
                {"name": CONFIG, "configMap": config},
                {"name": _DATA, "emptyDir": {}},
                {"name": TMP, "emptyDir": {}},
                *security_volumes(cluster),
            ],
        },
    }


def _container(cluster: Cluster, image: str) -> Json:
    mounts = {_DATA: NAME_SERVER_DATA, CONFIG: FOLDER, TMP: "/tmp"}  # noqa: S108
    mounts |= security_mounts(cluster)
    ports = {"namesrv": NAME_SERVER_PORT, "metrics": NAME_SERVER_METRICS_PORT}
    variables = environment(cluster)
    return {
        "name": NAME_SERVER,
        **image_fields(cluster, image),
        "command": ["gantry", "namesrv", "-c", f"{FOLDER}/{FILE}"],
        **({"env": variables} if variables else {}),
        "ports": [
            {"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()
        ],
        **probes("metrics"),
        # With it the status of the pod says why a container ended.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        **resource_fields(cluster.spec.resources.name_server),
        "securityContext": container_security(),
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts.items()],
    }
