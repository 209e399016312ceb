"""Defines the workload of a cluster's name servers."""

from __future__ import annotations

from functools import partial

from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.names import NAME_SERVER
from gantrymq.operator.plan.objects.pods.broker_config import name_server_config
from gantrymq.operator.plan.objects.pods.inputs import name_server_inputs
from gantrymq.operator.plan.objects.pods.name_server_pods import name_server_template
from gantrymq.operator.plan.objects.pods.workloads import Blueprint
from gantrymq.operator.plan.objects.security import profile_note


def name_server_blueprint(cluster: Cluster, address: str) -> Blueprint:
    """Return the blueprint of the name servers. `address` is the clusterIP of their Service."""
    names = cluster.names
    return Blueprint(
        names.name_servers,
        NAME_SERVER,
        "",
        name_server_inputs(cluster, address),
        cluster.defaults.name_server_image,
        cluster.spec.image.name_server,
        name_server_config(cluster, address),
        "namesrv",
        partial(name_server_template, cluster),
        {
            "replicas": cluster.spec.name_servers,
            "serviceName": names.name_servers,
            "podManagementPolicy": "Parallel",
            # Brokers and clients know all name servers, so Kubernetes may replace them one by one.
            "updateStrategy": {"type": "RollingUpdate"},
            "selector": {"matchLabels": names.selector(NAME_SERVER)},
        },
        profile_note(cluster),
    )
