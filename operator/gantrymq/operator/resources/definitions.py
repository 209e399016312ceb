"""Makes the CustomResourceDefinitions of the API group from the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec
from gantrymq.operator.resources.cluster.cluster_status import BrokerClusterStatus
from gantrymq.operator.resources.names import CATEGORY, GROUP, VERSION
from gantrymq.operator.resources.reasons.conditions import Kind
from gantrymq.operator.resources.schema import Schema, object_schema, rule_schema
from gantrymq.operator.resources.topic.topic import TopicSpec
from gantrymq.operator.resources.topic.topic_status import TopicStatus

_READY_MESSAGE: Final = '.status.conditions[?(@.type=="Ready")].message'
_READY_STATUS: Final = '.status.conditions[?(@.type=="Ready")].status'


@final
@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    path: str
    about: str
    type: str = "string"
    is_wide: bool = False
    """Whether the column is only shown by `-o wide`."""


@final
@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of one kind of resource."""

    kind: Kind
    plural: str
    short_names: tuple[str, ...]
    about: str
    spec: type[BrokerClusterSpec | TopicSpec]
    status: type[Any]
    columns: tuple[Column, ...]
    scale: Schema | None = None

    @property
    def file_name(self) -> str:
        """The name of the file with the definition."""
        return f"{GROUP}_{self.plural}.yaml"


_AGE: Final = Column("Age", ".metadata.creationTimestamp", "When it was created.", "date")

BROKER_CLUSTER: Final = Definition(
    Kind.BROKER_CLUSTER,
    "brokerclusters",
    ("bc",),
    "BrokerCluster is a RocketMQ cluster: name servers, and groups of brokers that elect their"
    " masters.",
    BrokerClusterSpec,
    BrokerClusterStatus,
    (
        Column("Phase", ".status.phase", "The state in one word."),
        Column("Groups", ".status.readyGroups", "Groups whose master accepts messages, of all."),
        Column("Members", ".status.readyMembers", "Brokers that are ready, of all."),
        Column("Masters", ".status.masters", "Pod of each group's master."),
        Column("Lag", ".status.maxLag", "How far the slowest member is behind its master."),
        _AGE,
        Column("NameServers", ".status.nameServers", "Addresses for clients.", is_wide=True),
        Column("Message", _READY_MESSAGE, "Why it is ready or not.", is_wide=True),
    ),
    {
        "specReplicasPath": ".spec.groups",
        "statusReplicasPath": ".status.groupCount",
        "labelSelectorPath": ".status.selector",
    },
)

TOPIC: Final = Definition(
    Kind.TOPIC,
    "topics",
    ("mqt",),
    "Topic is a topic on all groups of a BrokerCluster.",
    TopicSpec,
    TopicStatus,
    (
        Column("Cluster", ".spec.cluster", "The BrokerCluster that has the topic."),
        Column("Topic", ".status.topicName", "Name of the topic on the brokers."),
        Column("Queues", ".status.queues", "Write and read queues on each group."),
        Column("Ready", _READY_STATUS, "Whether all groups have the topic as it is wanted."),
        _AGE,
        Column("Message", _READY_MESSAGE, "Why it is ready or not.", is_wide=True),
    ),
)

DEFINITIONS: Final = (BROKER_CLUSTER, TOPIC)


def definition(of: Definition) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind."""
    version: dict[str, Any] = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(each) for each in of.columns],
        "subresources": {"status": {}} | ({"scale": of.scale} if of.scale else {}),
        "schema": {"openAPIV3Schema": resource_schema(of)},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{of.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": of.kind.value,
                "listKind": f"{of.kind}List",
                "plural": of.plural,
                "singular": of.kind.lower(),
                "shortNames": list(of.short_names),
                "categories": [CATEGORY],
            },
            "versions": [version],
        },
    }


def resource_schema(of: Definition) -> Schema:
    """Return the schema of a whole resource."""
    spec = object_schema(of.spec, "What the user wants.")
    schema: Schema = {
        "type": "object",
        "description": of.about,
        "properties": {
            "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}"},
            "kind": {"type": "string", "description": of.kind.value},
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": spec,
            "status": object_schema(of.status, "What the operator saw. Not for users to write."),
        },
        "x-kubernetes-validations": [rule_schema(each) for each in of.spec.RESOURCE_RULES],
    }
    if "required" in spec:
        schema["required"] = ["spec"]
    else:
        spec["default"] = {}
    return schema


def _column(column: Column) -> dict[str, Any]:
    shown = {
        "name": column.name,
        "type": column.type,
        "description": column.about,
        "jsonPath": column.path,
    }
    return shown | ({"priority": 1} if column.is_wide else {})
