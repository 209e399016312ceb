"""Declares the status of a BrokerCluster."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, final

from gantrymq.operator.resources.encoding import to_json
from gantrymq.operator.resources.fields import reported
from gantrymq.operator.resources.reasons.condition_list import Condition
from gantrymq.operator.resources.security import SecurityProfile

ROTATION_PODS_SHOWN_MAX = 20
"""The most pods that a status names of those for which a secret rotation waits."""
UNMANAGED_SHOWN_MAX = 20
"""The most unmanaged topics that a status names, to limit its size."""


@final
class ClusterPhase(StrEnum):
    """The state of a cluster in one word."""

    PENDING = "Pending"
    """The resource cannot be carried out as it is."""
    CREATING = "Creating"
    """Groups are being formed."""
    RUNNING = "Running"
    """All groups accept messages and all members are in sync."""
    CHANGING = "Changing"
    """All groups accept messages, and a change is being carried out."""
    DEGRADED = "Degraded"
    """All groups accept messages, but a member is missing or behind."""
    UNAVAILABLE = "Unavailable"
    """At least one group accepts no messages."""
    PAUSED = "Paused"
    """`spec.paused` is set."""


@final
class RotationStep(StrEnum):
    """The steps of a rotation of the replication secret."""

    NEW_ACCEPTED = "NewAccepted"
    """Members use the old secret, and accept the new one as well."""
    NEW_USED = "NewUsed"
    """Members use the new secret, and accept the old one as well."""
    OLD_REMOVED = "OldRemoved"
    """Members know the new secret alone."""
    DONE = "Done"
    """All members are known to have reached the last step."""


@final
class MemberRole(StrEnum):
    """The role of a member in its group."""

    MASTER = "master"
    FOLLOWER = "follower"
    NONE = "none"


@final
@dataclass(frozen=True, slots=True)
class WaitStatus:
    """A wanted change that is not done yet."""

    what: str = reported("What is wanted.", "")
    why: str = reported("Why it is not done now.", "")


@final
@dataclass(frozen=True, slots=True)
class MemberStatus:
    """One member of a group."""

    pod: str = reported("Name of the pod.", "")
    member: int = reported("Number of the member in its group, from 1.", 0)
    node: str | None = reported("Node that the pod runs on.")
    ready: bool = reported("Whether the pod is ready: it serves and is in sync.", False)
    role: MemberRole = reported("Role of the member: master, follower or none.", MemberRole.NONE)
    in_sync: bool = reported("Whether the member is in the group's in-sync set.", False)
    restarts: int = reported("How often the broker's container was restarted.", 0)
    lag: str | None = reported("How far the member is behind its master, such as 0, <1Mi or 12Mi.")


@final
@dataclass(frozen=True, slots=True)
class GroupStatus:
    """One broker group."""

    name: str = reported("Name of the group (brokerName).", "")
    address: str | None = reported("Address of the group's master for clients, ip:port.")
    epoch: int | None = reported("Epoch of the group: a number that grows with each new master.")
    master: str | None = reported("Pod of the current master.")
    master_node: str | None = reported("Node of the current master.")
    in_sync: tuple[str, ...] = reported("Pods of the members in sync, the master among them.", ())
    members: tuple[MemberStatus, ...] = reported("The members of the group.", (), map_key="pod")
    problems: tuple[str, ...] = reported(
        "What the members report: why one is not ready, what prevents clients from reaching the"
        " master, and annotations of the Lease that are ignored.",
        (),
    )
    waits: tuple[WaitStatus, ...] = reported("What is wanted of this group, but not done yet.", ())


@final
@dataclass(frozen=True, slots=True)
class UnmanagedTopics:
    """Topics on the brokers that no Topic resource describes."""

    count: int = reported("How many there are.", 0)
    names: tuple[str, ...] = reported(f"At most {UNMANAGED_SHOWN_MAX} of their names.", ())


@final
@dataclass(frozen=True, slots=True)
class SecretRotation:
    """The current rotation of the replication secret, or the last one."""

    request: str = reported("Text of the annotation gantrymq.dev/rotate-secret.", "")
    step: RotationStep = reported(
        f"The step of the rotation: {', '.join(RotationStep)}.", RotationStep.DONE
    )
    waits_for: tuple[str, ...] = reported(
        f"At most {ROTATION_PODS_SHOWN_MAX} of the pods that have not read the secrets of this"
        " step.",
        (),
    )


@final
@dataclass(frozen=True, slots=True)
class BrokerClusterStatus:
    """The status of a BrokerCluster."""

    observed_generation: int = reported("The metadata.generation that this status is about.", 0)
    phase: ClusterPhase = reported(
        f"The state in one word: {', '.join(ClusterPhase)}.", ClusterPhase.PENDING
    )
    conditions: tuple[Condition, ...] = reported(
        "Conditions of the cluster, with reasons.", (), map_key="type"
    )
    group_count: int = reported("Number of groups that exist.", 0)
    selector: str = reported("Label selector of the brokers' pods, for `kubectl scale`.", "")
    ready_groups: str = reported("Groups whose master accepts messages, of all: 2/2.", "")
    ready_members: str = reported("Brokers that are ready, of all: 4/4.", "")
    masters: str = reported("Pod of each group's master: broker-0=orders-broker-0-1, ...", "")
    max_lag: str | None = reported("How far the slowest member is behind: 0, <1Mi, 12Mi.")
    name_servers: str = reported(
        "Addresses of the name servers for clients inside of the Kubernetes cluster,"
        " host:port;host:port.",
        "",
    )
    groups: tuple[GroupStatus, ...] = reported("The broker groups.", (), map_key="name")
    unmanaged_topics: UnmanagedTopics | None = reported(
        "Topics on the brokers that no Topic resource describes."
    )
    secret_rotation: SecretRotation | None = reported(
        "The current rotation of the replication secret, or the last one."
    )
    security_profile: SecurityProfile | None = reported(
        "The security profile that the cluster was created with: open or secure."
    )
    waits: tuple[WaitStatus, ...] = reported("What is wanted, but not done yet.", ())

    def to_json(self) -> dict[str, Any]:
        """The `status` of the resource."""
        status: dict[str, Any] = to_json(self)
        return status
