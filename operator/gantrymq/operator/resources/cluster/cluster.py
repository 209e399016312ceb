"""Declares the spec of a BrokerCluster: name servers, broker groups and their volumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, final

from gantrymq.operator.resources.cluster.cluster_rules import (
    CONFIG_RULES,
    NAME_RULES,
    NAME_SERVER_CONFIG_RULES,
    NO_LISTENERS,
    PREFERRED_RULES,
    REPLICA_RULES,
    STORAGE_RULES,
    STORAGE_SIZE_RULES,
    TLS_RULES,
)
from gantrymq.operator.resources.cluster.pods import (
    ImageSpec,
    PodsSpec,
    ResourcesSpec,
    SchedulingSpec,
)
from gantrymq.operator.resources.fields import Rule, Scalar, Text, described
from gantrymq.operator.resources.names import GROUPS_MAX, MEMBERS_MAX
from gantrymq.operator.resources.security import SECURE_RULES, SecuritySpec

_OBJECT_NAME: Final = Text(
    253,
    "[a-z0-9]([-a-z0-9.]*[a-z0-9])?",
    "must be the name of an object: lower-case letters, digits, hyphens and dots",
)
_CONFIG_VALUE: Final = Text(4096)
CONFIG_KEYS_MAX: Final = 256
"""The most keys of `config`: more than a broker has."""


@final
class Replication(StrEnum):
    """Whether a send waits for followers before it is acknowledged."""

    SYNC = "sync"
    ASYNC = "async"


@final
class Flush(StrEnum):
    """Whether a send waits for the disk before it is acknowledged."""

    ASYNC = "async"
    SYNC = "sync"


@final
class ReplicationTls(StrEnum):
    """Whether the links between the members of a group use TLS."""

    ACCEPTED = "accepted"
    USED = "used"
    REQUIRED = "required"


@final
class OnClusterDeletion(StrEnum):
    """What happens to the volume claims of a deleted cluster."""

    RETAIN = "Retain"
    DELETE = "Delete"


@final
@dataclass(frozen=True, slots=True)
class StorageSpec:
    """The volume of each member."""

    RULES: ClassVar[tuple[Rule, ...]] = STORAGE_RULES

    size: str = described(
        "Size of the volume of each member. It may not be reduced.",
        "20Gi",
        text=Text(32),
        rules=STORAGE_SIZE_RULES,
        example="100Gi",
    )
    storage_class_name: str | None = described(
        "StorageClass of the volumes. Local disks suit best, because a group keeps its own copies."
        " It cannot be changed after creation.",
        None,
        text=_OBJECT_NAME,
        default_words="the default class of the Kubernetes cluster",
        example="local-ssd",
    )
    on_cluster_deletion: OnClusterDeletion = described(
        "What happens to the volume claims when the BrokerCluster is deleted. `Retain` keeps them"
        " with all messages, and a new BrokerCluster of the same name uses them; `Delete` removes"
        " them.",
        OnClusterDeletion.RETAIN,
    )


@final
@dataclass(frozen=True, slots=True)
class Listener:
    """An address for clients outside of the Kubernetes cluster. Not available in this version."""


@final
@dataclass(frozen=True, slots=True)
class BrokerClusterSpec:
    """The spec of a BrokerCluster."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *REPLICA_RULES,
        *PREFERRED_RULES,
        *TLS_RULES,
        *SECURE_RULES,
    )
    RESOURCE_RULES: ClassVar[tuple[Rule, ...]] = NAME_RULES

    name_servers: int = described(
        "Number of name servers. They keep no state on disk; two let one fail.",
        2,
        minimum=1,
        maximum=9,
    )
    groups: int = described(
        "Number of broker groups. Each has its own master and followers, and a topic's queues are"
        " spread over all groups. `kubectl scale` changes this field. Groups are added at once;"
        " removing groups is not supported yet and leaves them as they are.",
        1,
        minimum=1,
        maximum=GROUPS_MAX,
        example="3",
    )
    members_per_group: int = described(
        "Number of brokers of each group: one master, the others follow it. Members of a group run"
        " on different nodes. Changing it after creation is not supported yet.",
        2,
        minimum=1,
        maximum=MEMBERS_MAX,
    )
    replication: Replication = described(
        "When a master acknowledges a send: `sync` waits until minInSyncReplicas members have the"
        " message (SYNC_MASTER of RocketMQ), `async` does not wait (ASYNC_MASTER) and may lose the"
        " newest messages when the master's node fails.",
        Replication.SYNC,
    )
    flush: Flush = described(
        "Whether a member writes messages through to its disk before they count: `sync` survives a"
        " power cut of all members at once (SYNC_FLUSH), `async` leaves it to the operating system"
        " (ASYNC_FLUSH).",
        Flush.ASYNC,
    )
    min_in_sync_replicas: int | None = described(
        "Number of members, the master among them, that must have a message before it is"
        " acknowledged. With fewer members in sync, messages are stored but the sender is told"
        " SLAVE_NOT_AVAILABLE. Only with replication sync.",
        None,
        minimum=1,
        maximum=MEMBERS_MAX,
        default_words="2, or 1 where a group has one member",
    )
    replication_tls: ReplicationTls | None = described(
        "Whether the members of a group replicate the log by TLS: `accepted` connects without TLS"
        " and accepts both, `used` connects by TLS and accepts both, `required` uses and accepts"
        " only TLS. Members authenticate by the replication secret in each case; with TLS the proof"
        " covers the connection, so no certificates are needed. A change restarts the members one"
        " after another, once for each step from `accepted` to `required` or back.",
        None,
        default_words="accepted, or required where config has tls.server.mode: enforcing",
        example="used",
    )
    security: SecuritySpec = described(
        "Accounts and TLS of the servers of the cluster.", factory=SecuritySpec
    )
    storage: StorageSpec = described("The volume of each member.", factory=StorageSpec)
    preferred_masters: Mapping[str, int] = described(
        "Which member of a group should be its master, by the name of the group, while it is in"
        " sync. Member 1 is the pod with ordinal 0.",
        factory=dict,
        minimum=1,
        maximum=MEMBERS_MAX,
        max_items=GROUPS_MAX,
        default_words="the operator spreads the masters over the nodes",
        example="{broker-0: 1, broker-1: 2}",
    )
    config: Mapping[str, Scalar] = described(
        "Settings of the brokers, as in broker.conf. Keys that the operator sets itself are"
        " refused. Write true and false in quotation marks.",
        factory=dict,
        text=_CONFIG_VALUE,
        max_items=CONFIG_KEYS_MAX,
        rules=CONFIG_RULES,
        default_words="the brokers' own defaults",
        example='{fileReservedTime: 72, autoCreateTopicEnable: "false"}',
    )
    name_server_config: Mapping[str, Scalar] = described(
        "Settings of the name servers, as in namesrv.properties. Write true and false in quotation"
        " marks.",
        factory=dict,
        text=_CONFIG_VALUE,
        max_items=CONFIG_KEYS_MAX,
        rules=NAME_SERVER_CONFIG_RULES,
        default_words="the name servers' own defaults",
        example='{orderMessageEnable: "true"}',
    )
    image: ImageSpec = described("The container images.", factory=ImageSpec)
    resources: ResourcesSpec = described(
        "CPU and memory of brokers and name servers.", factory=ResourcesSpec
    )
    scheduling: SchedulingSpec = described("On which nodes the pods run.", factory=SchedulingSpec)
    pods: PodsSpec = described("Further properties of the pods.", factory=PodsSpec)
    listeners: tuple[Listener, ...] = described(
        "Addresses for clients outside of the Kubernetes cluster. Not available in this version:"
        " the list must be empty.",
        (),
        max_items=16,
        rules=(NO_LISTENERS,),
    )
    paused: bool = described(
        "Whether the operator makes no changes to the cluster. Failover still works, because the"
        " members elect their masters themselves.",
        False,
    )

    @property
    def required_in_sync(self) -> int:
        """The number of members, including the master, that must have a message before it is
        acknowledged."""
        if self.replication is Replication.ASYNC:
            return 1
        if self.min_in_sync_replicas is not None:
            return self.min_in_sync_replicas
        return min(2, self.members_per_group)
