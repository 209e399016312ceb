"""Decides which security profile a cluster has, and names what of its spec has no effect then.

A cluster keeps the profile that it was created with: servers and clients with and without TLS and
accounts do not understand each other, and an operator that is installed with another default must
not change a cluster that runs. Its StatefulSets say which one it is, and the status while there are
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import annotation_of, list_at, text_at
from gantrymq.operator.plan.objects.names import PROFILE
from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec, ReplicationTls
from gantrymq.operator.resources.security import SecurityProfile, profile_keys


def effective_profile(
    spec: BrokerClusterSpec,
    status: Mapping[str, Any],
    stateful_sets: Iterable[Json],
    default: SecurityProfile,
) -> SecurityProfile:
    """The profile that the cluster was created with, or is to be created with. `stateful_sets` are
    those that are there, `default` is that of the operator's installation."""
    found = list(stateful_sets)
    if found:
        is_secure = any(annotation_of(each, PROFILE) == SecurityProfile.SECURE for each in found)
        return SecurityProfile.SECURE if is_secure else SecurityProfile.OPEN
    kept = text_at(status, "securityProfile")
    if kept in tuple(SecurityProfile):
        return SecurityProfile(kept)
    if list_at(status, "groups"):  # of a version without profiles
        return SecurityProfile.OPEN
    return spec.security.profile or default


def with_profile(spec: BrokerClusterSpec, profile: SecurityProfile) -> BrokerClusterSpec:
    """The spec as the operator carries it out."""
    return replace(spec, security=replace(spec.security, profile=profile))


def ignored_fields(asked: BrokerClusterSpec, profile: SecurityProfile) -> list[str]:
    """What the spec `asked` for and a cluster of this profile does not get, in sentences. The API
    server refuses the same where the resource names the profile itself."""
    found: list[str] = []
    named = asked.security.profile
    if named is not None and named is not profile:
        found.append(
            f"spec.security.profile is {named}, and the cluster was created with {profile}: this"
            f" cannot be changed; set it back to {profile}"
        )
    if profile is SecurityProfile.OPEN:
        return found
    keys = profile_keys(asked.config)
    keys += profile_keys(asked.name_server_config, of_name_servers=True)
    if keys:
        found.append(
            f"spec.config or spec.nameServerConfig has {', '.join(dict.fromkeys(keys))}, which the"
            " security profile secure decides: remove what is there"
        )
    if asked.replication_tls not in (None, ReplicationTls.REQUIRED):
        found.append(
            f"spec.replicationTls is {asked.replication_tls}, and the security profile secure"
            " requires TLS: remove it"
        )
    return found
