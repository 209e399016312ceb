"""Writes broker.conf and namesrv.conf.

Keys that the operator sets override those of the user; the API server already refuses them in
`spec.config`.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.configuration.properties import format_properties
from gantrymq.operator.plan.objects.access import SECRET_ENTRY
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.names import (
    BROKER_METRICS_PORT,
    BROKER_PORT,
    HA_PORT,
    NAME_SERVER_METRICS_PORT,
    NAME_SERVER_PORT,
)
from gantrymq.operator.plan.objects.pods.inputs import required_in_sync
from gantrymq.operator.plan.objects.pods.replication_tls import LinkTls, link_settings
from gantrymq.operator.plan.objects.security import broker_settings, server_settings
from gantrymq.operator.resources.cluster.cluster import Flush, Replication

SECRET_FOLDER: Final = "/etc/gantry-secret"  # noqa: S105 - where the Secret is mounted
NAME_SERVER_DATA: Final = "/data"

_ROLES: Final = {Replication.SYNC: "SYNC_MASTER", Replication.ASYNC: "ASYNC_MASTER"}
_FLUSHES: Final = {Flush.SYNC: "SYNC_FLUSH", Flush.ASYNC: "ASYNC_FLUSH"}


def broker_config(cluster: Cluster, group: str, members: int, address: str, links: LinkTls) -> str:
    """Return the broker.conf that all members of a group share. `address` is the group's
    clusterIP."""
    names, spec = cluster.names, cluster.spec
    member_addresses = (
        f"{member}={names.member_address(group, member)}" for member in range(1, members + 1)
    )
    owned = {
        "brokerClusterName": names.cluster,
        "brokerName": group,
        "brokerRole": _ROLES[spec.replication],
        "flushDiskType": _FLUSHES[spec.flush],
        "groupAddress": host_port(address, BROKER_PORT),
        "groupMembers": ",".join(member_addresses),
        "groupSecretFile": f"{SECRET_FOLDER}/{SECRET_ENTRY}",
        "haListenPort": str(HA_PORT),
        "leaseName": names.group(group),
        "leaseNamespace": names.namespace,
        "listenPort": str(BROKER_PORT),
        "metricsPort": str(BROKER_METRICS_PORT),
        "minInSyncReplicas": str(required_in_sync(spec, members)),
        "namesrvAddr": names.name_server_addresses(spec.name_servers),
        "publishService": names.group(group),
    }
    secure = broker_settings(cluster, _bind_address(address))
    return _text({**spec.config, **owned, **link_settings(links, spec), **secure})


def name_server_config(cluster: Cluster, address: str) -> str:
    """Return namesrv.conf. `address` is the clusterIP of the name servers' Service."""
    owned = {
        "bindAddress": _bind_address(address),
        "kvConfigPath": f"{NAME_SERVER_DATA}/kvConfig.json",
        "listenPort": str(NAME_SERVER_PORT),
        "metricsPort": str(NAME_SERVER_METRICS_PORT),
    }
    secure = server_settings(cluster, owned["bindAddress"])
    return _text({**cluster.spec.name_server_config, **owned, **secure})


def host_port(host: str, port: int) -> str:
    """Return an address with a port, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bind_address(address: str) -> str:
    """Return the address that stands for all addresses of the pod. `::` fails if the kernel has no
    IPv6."""
    return "::" if ":" in address else "0.0.0.0"


def _text(values: dict[str, str]) -> str:
    return format_properties({key: str(values[key]) for key in sorted(values)})
