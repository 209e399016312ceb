"""Adds the secure profile to the configuration and to the pods of a cluster.

The files come from two Secrets. Servers read certificates, accounts and the token again when the
files change. Only the keys by which a broker signs its requests are read once, at its start.
"""

from __future__ import annotations

from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.names import PROFILE
from gantrymq.operator.resources.security import SecurityProfile

ACCOUNTS_ENTRY: Final = "plain_acl.yml"
ADMINISTRATOR_ENTRY: Final = "tools.yml"
TOKEN_ENTRY: Final = "metrics.token"  # noqa: S105 - the name of an entry
CERTIFICATE_ENTRY: Final = "tls.crt"
KEY_ENTRY: Final = "tls.key"
AUTHORITY_ENTRY: Final = "ca.crt"

ACCOUNTS_FOLDER: Final = "/etc/gantry-accounts"
TLS_FOLDER: Final = "/etc/gantry-tls"
_ACCOUNTS_VOLUME: Final = "accounts"
_TLS_VOLUME: Final = "tls"
# Readable by the owner and the group. The pod's fsGroup is the group of the server's user.
_MODE: Final = 0o440
# RocketMQ's tools read conf/tools.yml below ROCKETMQ_HOME, which may be set to this folder.
_PATHS: Final = {
    ACCOUNTS_ENTRY: ACCOUNTS_ENTRY,
    ADMINISTRATOR_ENTRY: f"conf/{ADMINISTRATOR_ENTRY}",
    TOKEN_ENTRY: TOKEN_ENTRY,
}
ACCOUNTS_ENTRIES: Final = tuple(_PATHS)
TLS_ENTRIES: Final = (CERTIFICATE_ENTRY, KEY_ENTRY, AUTHORITY_ENTRY)


def accounts_name(cluster: Cluster) -> str:
    """Return the name of the Secret with the accounts."""
    return cluster.spec.security.accounts_secret or cluster.names.accounts


def tls_name(cluster: Cluster) -> str:
    """Return the name of the Secret with the certificate."""
    return cluster.spec.security.tls_secret or cluster.names.tls


def security_inputs(cluster: Cluster) -> Json:
    """Return the inputs of all pods of a secure cluster; none for an open one."""
    if not cluster.spec.security.is_secure:
        return {}
    secrets = {"accounts": accounts_name(cluster), "tls": tls_name(cluster)}
    return {"security": secrets}


def profile_note(cluster: Cluster) -> Json:
    """Return the annotation by which a StatefulSet stores the profile; none for an open cluster."""
    return {PROFILE: SecurityProfile.SECURE.value} if cluster.spec.security.is_secure else {}


# ------------------------------------------------------------------ configuration


def server_settings(cluster: Cluster, bind_address: str) -> dict[str, str]:
    """Return the settings of every server of a secure cluster; none for an open one."""
    if not cluster.spec.security.is_secure:
        return {}
    return {
        "secureDefaults": "true",
        "aclFile": f"{ACCOUNTS_FOLDER}/{_PATHS[ACCOUNTS_ENTRY]}",
        # Kubelets probe this port, and Prometheus scrapes it with the token.
        "metricsBindAddress": bind_address,
        "metricsTokenFile": f"{ACCOUNTS_FOLDER}/{_PATHS[TOKEN_ENTRY]}",
        "tls.server.certPath": f"{TLS_FOLDER}/{CERTIFICATE_ENTRY}",
        "tls.server.keyPath": f"{TLS_FOLDER}/{KEY_ENTRY}",
    }


def broker_settings(cluster: Cluster, bind_address: str) -> dict[str, str]:
    """Return the settings of a broker of a secure cluster; none for an open one."""
    settings = server_settings(cluster, bind_address)
    if not settings:
        return {}
    return settings | {
        "aclFileReadOnly": "true",
        "aclCredentialsFile": f"{ACCOUNTS_FOLDER}/{_PATHS[ADMINISTRATOR_ENTRY]}",
        # With it, commands in the pod can read this file: gantry ... --tls /etc/gantry/broker.conf
        "tls.enable": "true",
        "tls.client.trustCertPath": f"{TLS_FOLDER}/{AUTHORITY_ENTRY}",
    }


# ------------------------------------------------------------------ pods


def security_mounts(cluster: Cluster) -> dict[str, str]:
    """Return the folder of each Secret's volume in a container of a secure cluster."""
    if not cluster.spec.security.is_secure:
        return {}
    return {_ACCOUNTS_VOLUME: ACCOUNTS_FOLDER, _TLS_VOLUME: TLS_FOLDER}


def security_volumes(cluster: Cluster) -> list[Json]:
    """Return the volumes of `security_mounts`, with only the entries that servers read."""
    if not cluster.spec.security.is_secure:
        return []
    names = {_ACCOUNTS_VOLUME: accounts_name(cluster), _TLS_VOLUME: tls_name(cluster)}
    paths = {_ACCOUNTS_VOLUME: _PATHS, _TLS_VOLUME: {each: each for each in TLS_ENTRIES}}
    return [
        {
            "name": volume,
            "secret": {
                "secretName": name,
                "defaultMode": _MODE,
                "items": [{"key": key, "path": path} for key, path in paths[volume].items()],
            },
        }
        for volume, name in names.items()
    ]
