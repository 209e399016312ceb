"""Decides the security profile of a cluster, and names the fields of its spec without effect.

A cluster keeps the profile that it was created with, because servers and clients with and without
TLS and accounts cannot talk to each other, and a new default of the operator must not change a
running cluster. Its StatefulSets store the profile, and the status does while there are none.
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
    """Return the profile that the cluster was created with, or will be created with.
    `stateful_sets` are the existing ones; `default` is that of the operator's installation."""
    found = list(stateful_sets)
    if found:
        is_secure = any(annotation_of(each, PROFILE) == SecurityProfile.SECURE for each in found)
        return SecurityProfile.SECURE if is_secure else SecurityProfile.OPEN
    kept = text_at(status, "securityProfile")
    if kept in tuple(SecurityProfile):
        return SecurityProfile(kept)
    if list_at(status, "groups"):  # created by a version without profiles
        return SecurityProfile.OPEN
    return spec.security.profile or default


def with_profile(spec: BrokerClusterSpec, profile: SecurityProfile) -> BrokerClusterSpec:
    """Return the spec with the profile that the cluster has."""
    return replace(spec, security=replace(spec.security, profile=profile))


def ignored_fields(asked: BrokerClusterSpec, profile: SecurityProfile) -> list[str]:
    """Return sentences about what the spec `asked` for and a cluster of this profile does not get.
    The API server refuses the same if the resource itself names the profile."""
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
            " security profile secure decides: remove these keys"
        )
    if asked.replication_tls not in (None, ReplicationTls.REQUIRED):
        found.append(
            f"spec.replicationTls is {asked.replication_tls}, and the security profile secure"
            " requires TLS: remove it"
        )
    return found
