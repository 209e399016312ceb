"""Plans the Secrets of a secure cluster: creates missing ones, and checks those that users name.

    <cluster>-accounts    all accounts, the administrator's keys, the token for metrics
    <cluster>-client      the keys of the account of applications: SUB and PUB of all topics
    <cluster>-tls         a certificate and the authority that signed it, in cert-manager's format
    <cluster>-ca          a ConfigMap with the authority's certificate, which clients trust, and a
                          tls.properties for clients that mount it at /etc/gantry-ca

The operator creates them once. Users may change their content, and delete them to get new ones. The
account of applications is one of the accounts, so both are created again together.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

from gantrymq.operator.plan.actions import Apply, Json, Wait
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.fields import label_of, list_at, text_at, version_of
from gantrymq.operator.plan.objects.kinds import CONFIG_MAP, SECRET
from gantrymq.operator.plan.objects.names import BROKER, MANAGED_BY
from gantrymq.operator.plan.objects.repair import Repairs
from gantrymq.operator.plan.objects.secret import AUTHORITY, ENTRIES
from gantrymq.operator.plan.objects.security import (
    ACCOUNTS_ENTRIES,
    ACCOUNTS_ENTRY,
    ADMINISTRATOR_ENTRY,
    AUTHORITY_ENTRY,
    CERTIFICATE_ENTRY,
    KEY_ENTRY,
    TLS_ENTRIES,
    TOKEN_ENTRY,
    accounts_name,
    tls_name,
)
from gantrymq.operator.plan.snapshot import NewSecurity

ADMINISTRATOR: Final = "gantry-administrator"
APPLICATION: Final = "application"

_ACCOUNTS: Final = """\
# The accounts of the cluster. Servers read a change within two minutes, without a restart.
accounts:
- accessKey: {administrator}
  secretKey: {administrator_key}
  admin: true
- accessKey: {application}
  secretKey: {application_key}
  admin: false
  defaultTopicPerm: PUB|SUB
  defaultGroupPerm: SUB
"""
_GANTRY: Final = "gantry"
_KEYS: Final = "accessKey: {key}\nsecretKey: {secret}\n"
_CLIENT_TLS: Final = f"tls.enable=true\ntls.client.trustCertPath=/etc/gantry-ca/{AUTHORITY_ENTRY}\n"
_TLS_TYPE: Final = "kubernetes.io/tls"


def want_security(cluster: Cluster, repairs: Repairs, new: NewSecurity | None) -> list[Wait]:
    """Plan the Secrets that the operator creates; return why pods cannot start yet."""
    if not cluster.spec.security.is_secure:
        return []
    security = cluster.spec.security
    waits: list[Wait] = []
    if security.accounts_secret is None:
        waits += _want_accounts(cluster, repairs, new)
    if security.tls_secret is None:
        tls = None if new is None else _tls(cluster, new)
        waits += _want_own(repairs, cluster, cluster.names.tls, tls)
    found = repairs.observed.find(SECRET, tls_name(cluster))
    authority = text_at(found, AUTHORITY)
    if authority:
        repairs.want(_authority(cluster, authority))
    waits += _missing(repairs, accounts_name(cluster), ACCOUNTS_ENTRIES, "accountsSecret")
    waits += _missing(repairs, tls_name(cluster), TLS_ENTRIES, "tlsSecret")
    repairs.waits.extend(waits)
    return waits


def _want_accounts(cluster: Cluster, repairs: Repairs, new: NewSecurity | None) -> list[Wait]:
    names = cluster.names
    is_new = repairs.observed.find(SECRET, names.accounts) is None
    accounts = None if new is None else _accounts(cluster, new)
    waits = _want_own(repairs, cluster, names.accounts, accounts)
    client = repairs.observed.find(SECRET, names.client)
    if client is not None and is_new and new is not None:  # its key belonged to the old accounts
        reason = f"Secret {names.client}: the accounts are created again"
        repairs.actions.append(Apply(_client(cluster, new), reason, version_of(client)))
        return waits
    return waits + _want_own(
        repairs, cluster, names.client, None if new is None else _client(cluster, new)
    )


def _want_own(repairs: Repairs, cluster: Cluster, name: str, wanted: Json | None) -> list[Wait]:
    """Create a missing Secret. Of an existing one, keep only labels and owner right. A Secret that
    the operator did not create is not changed, because it would be deleted with the cluster."""
    found = repairs.observed.find(SECRET, name)
    if found is not None and not _is_ours(found, cluster.names.cluster):
        words = (
            "a Secret of this name exists, and the operator did not create it: delete or rename"
            " it, or name it in spec.security (accountsSecret, tlsSecret)"
        )
        return [Wait(f"Secret {name}", words)]
    if found is not None:
        repairs.own(cluster.owned(SECRET, name, BROKER))
    elif wanted is not None:
        repairs.want(wanted)
    else:
        repairs.waits.append(Wait(f"Secret {name}", "the snapshot has no random values for it"))
    return []


def _is_ours(found: Json, cluster: str) -> bool:
    """Whether the operator created a Secret, by its label, or by its owner if a user has removed
    the label."""
    owners = list_at(found, "metadata", "ownerReferences")
    return label_of(found, MANAGED_BY) == _GANTRY or any(
        text_at(owner, "name") == cluster for owner in owners
    )


def _missing(repairs: Repairs, name: str, entries: tuple[str, ...], field: str) -> list[Wait]:
    """Return what pods cannot mount yet."""
    found = repairs.observed.find(SECRET, name)
    what = f"pods with Secret {name}"
    if found is None:
        if any(each.ref.name == name for each in repairs.actions):
            return [Wait(what, "the Secret is being created")]
        why = f"spec.security.{field} names it, and it does not exist: create it"
        return [Wait(what, why)]
    lacks = [each for each in entries if each not in list_at(found, ENTRIES)]
    if not lacks:
        return []
    return [Wait(what, f"it has no entry {', '.join(lacks)}: add what is missing")]


# ------------------------------------------------------------------ contents


def _accounts(cluster: Cluster, new: NewSecurity) -> Json:
    accounts = _ACCOUNTS.format(
        administrator=ADMINISTRATOR,
        administrator_key=new.administrator,
        application=APPLICATION,
        application_key=new.application,
    )
    content = {
        ACCOUNTS_ENTRY: accounts,
        ADMINISTRATOR_ENTRY: _KEYS.format(key=ADMINISTRATOR, secret=new.administrator),
        TOKEN_ENTRY: f"{new.metrics_token}\n",
    }
    return _secret(cluster, cluster.names.accounts, content)


def _client(cluster: Cluster, new: NewSecurity) -> Json:
    content = {
        "accessKey": APPLICATION,
        "secretKey": new.application,
        ADMINISTRATOR_ENTRY: _KEYS.format(key=APPLICATION, secret=new.application),
    }
    return _secret(cluster, cluster.names.client, content)


def _tls(cluster: Cluster, new: NewSecurity) -> Json:
    content = {
        CERTIFICATE_ENTRY: new.certificate,
        KEY_ENTRY: new.key,
        AUTHORITY_ENTRY: new.authority,
    }
    return _secret(cluster, cluster.names.tls, content, _TLS_TYPE)


def _secret(cluster: Cluster, name: str, content: Mapping[str, str], type_: str = "Opaque") -> Json:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in content.items()}
    return cluster.owned(SECRET, name, BROKER, type=type_, data=data)


def _authority(cluster: Cluster, certificate: str) -> Json:
    """Return the ConfigMap that clients trust. The Secret also has the private key."""
    data = {AUTHORITY_ENTRY: certificate, "tls.properties": _CLIENT_TLS}
    return cluster.owned(CONFIG_MAP, cluster.names.authority, BROKER, data=data)
