"""Makes the Services of a cluster.

The Service of a group has no selector. Its only endpoint is in the EndpointSlice that the master
writes, so kube-proxy sends clients to the master without the operator.
"""

from __future__ import annotations

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.kinds import SERVICE
from gantrymq.operator.plan.objects.names import (
    BROKER,
    BROKER_PORT,
    FAST_PORT,
    HA_PORT,
    NAME_SERVER,
    NAME_SERVER_PORT,
)


def group_service(cluster: Cluster, group: str, address: str) -> Json:
    """Return the Service with the stable address of a group. `address` is its former clusterIP, if
    it had one."""
    ports = [_port("broker", BROKER_PORT), _port("fast", FAST_PORT), _port("ha", HA_PORT)]
    spec: Json = {"type": "ClusterIP", "ports": ports}
    if address:
        spec["clusterIP"] = address
    return cluster.owned(SERVICE, cluster.names.group(group), BROKER, group, spec=spec)


def members_service(cluster: Cluster, group: str) -> Json:
    """Return the Service that gives a group's members DNS names, ready or not: members must find
    each other to become ready."""
    spec = _headless(cluster.names.selector(BROKER, group), [_port("ha", HA_PORT)])
    return cluster.owned(SERVICE, cluster.names.members(group), BROKER, group, spec=spec)


def name_server_pods_service(cluster: Cluster) -> Json:
    """Return the Service that gives the name servers DNS names, which namesrvAddr lists."""
    ports = [_port("namesrv", NAME_SERVER_PORT)]
    spec = _headless(cluster.names.selector(NAME_SERVER), ports)
    return cluster.owned(SERVICE, cluster.names.name_servers, NAME_SERVER, spec=spec)


def name_server_service(cluster: Cluster) -> Json:
    """Return the Service with one address for all name servers, for clients that want only one."""
    spec = {
        "type": "ClusterIP",
        "selector": cluster.names.selector(NAME_SERVER),
        "ports": [_port("namesrv", NAME_SERVER_PORT)],
    }
    return cluster.owned(SERVICE, cluster.names.name_server_service, NAME_SERVER, spec=spec)


def _headless(selector: Json, ports: list[Json]) -> Json:
    return {
        "type": "ClusterIP",
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": selector,
        "ports": ports,
    }


def _port(name: str, port: int) -> Json:
    return {"name": name, "port": port, "protocol": "TCP"}
