"""Defines the snapshot of one cluster: all plain values that a plan uses.

`None` means "could not be read"; an empty tuple or mapping means "read, and there is none". A plan
takes no disruptive action on a part that is `None`. A snapshot can be stored as JSON, so that any
incident becomes a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.resources.security import SecurityProfile


@final
@dataclass(frozen=True, slots=True)
class OperatorDefaults:
    """The defaults that the operator's installation sets."""

    broker_image: str
    name_server_image: str
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    security_profile: SecurityProfile = SecurityProfile.OPEN
    """The profile of new clusters that name none."""


@final
@dataclass(frozen=True, slots=True)
class NewSecurity:
    """Random values, and a certificate, for Secrets of a secure cluster that do not exist yet."""

    administrator: str = field(repr=False)
    """The secret key of the account by which brokers and the operator sign."""
    application: str = field(repr=False)
    """The secret key of the account of applications; if accounts exist, the one in them."""
    metrics_token: str = field(repr=False)
    certificate: str
    key: str = field(repr=False)
    authority: str
    """The certificate of the authority. Its key is not kept."""


@final
@dataclass(frozen=True, slots=True)
class MemberReport:
    """What a group's master reported about one follower, or itself, over the remoting protocol."""

    member: int
    is_in_sync: bool
    lag_bytes: int


@final
@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """One BrokerCluster with all objects that belong to it."""

    resource: Json
    """The BrokerCluster as the API server returned it."""
    namespace_is_terminating: bool
    defaults: OperatorDefaults
    objects: Mapping[str, tuple[Json, ...]] | None
    """Owned objects by kind: StatefulSet, Service, ConfigMap, Secret, PodDisruptionBudget,
    ServiceAccount, Role, RoleBinding. None until the reflectors are in sync. Secrets have
    `fingerprints`, `entries` and `authority` in place of their data."""
    pods: tuple[Json, ...] | None
    volume_claims: tuple[Json, ...] | None
    leases: Mapping[str, Json | None] | None
    """By group: the Lease, or None where it does not exist. A group missing here could not be
    read."""
    nodes: Mapping[str, Json] | None
    """Nodes by name, reduced to labels, taints, unschedulable and the Ready condition."""
    storage_classes: frozenset[str] | None
    events: Mapping[str, str] = field(default_factory=dict)
    """The newest Warning of each pod, claim or StatefulSet that is not ready, by its name, which
    says why it is stuck."""
    refusal: str = ""
    """What the API server refused when the last plan was carried out, with the object's name and
    the server's message; empty after a run without a refusal."""
    slices: Mapping[str, Json | None] | None = None
    """By group: the EndpointSlice that its master writes, or None where it does not exist. Needed
    only while the cluster is deleted; None: not read."""
    reports: Mapping[str, tuple[MemberReport, ...]] = field(default_factory=dict)
    """By group, for groups whose master answered."""
    unready: Mapping[str, str] = field(default_factory=dict)
    """Why a broker is not ready, by the name of its pod, for brokers that answered."""
    unmanaged_topics: tuple[str, ...] | None = None
    """Topics on the brokers that no Topic resource names; None if unknown."""
    new_secret: str = ""
    """Random text for a new replication secret. It is part of the snapshot so that the plan is a
    pure function."""
    new_security: NewSecurity | None = field(default=None, repr=False)
    """The values for missing Secrets of a secure cluster; None if none is missing."""
    known_secrets: Mapping[str, tuple[str, ...]] | None = None
    """Fingerprints of the replication secrets that a broker has, by the name of its pod, for
    brokers that answered. None if they were not asked (`plan.objects.secret.is_of_interest`)."""
