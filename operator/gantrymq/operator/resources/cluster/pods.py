"""Declares the parts of a spec that shape the pods: images, resources, scheduling, labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, final

from gantrymq.operator.resources.cluster.pod_rules import (
    BROKER_MEMORY_RULES,
    LABEL_KEY_RULES,
    OWNED_LABEL_RULES,
    QUANTITY_RULES,
    REQUESTS_WITHIN_LIMITS,
    RESOURCE_NAME_RULES,
    TOLERATION_RULES,
)
from gantrymq.operator.resources.fields import Quantity, Rule, Text, described

_IMAGE: Final = Text(
    512,
    "[^ \\t\\r\\n]+",
    "must be a container image, such as registry.example.com/gantry/broker:1.0",
)
_NAME: Final = Text(
    253,
    "[a-z0-9]([-a-z0-9.]*[a-z0-9])?",
    "must be the name of an object: lower-case letters, digits, hyphens and dots",
)
_LABEL_VALUE: Final = Text(
    63,
    "([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?",
    "must be a label value: at most 63 letters, digits, hyphens, underscores and dots, beginning"
    " and ending with a letter or digit",
)
_LABELS_MAX: Final = 32
_TOLERATIONS_MAX: Final = 32
_PULL_SECRETS_MAX: Final = 16
_RESOURCES_MAX: Final = 16
_ANNOTATION_VALUE_MAX: Final = 8192

TERMINATION_SECONDS_MIN: Final = 60
"""A broker hands over and closes its store in at most 29 s; twice that is safe."""


@final
class PullPolicy(StrEnum):
    """When a node pulls an image."""

    IF_NOT_PRESENT = "IfNotPresent"
    ALWAYS = "Always"
    NEVER = "Never"


@final
class Zones(StrEnum):
    """How strictly the members of a group are spread over zones."""

    PREFER = "Prefer"
    REQUIRE = "Require"
    IGNORE = "Ignore"


@final
class LogFormat(StrEnum):
    """How brokers and name servers write their logs."""

    CONSOLE = "console"
    JSON = "json"


@final
class TolerationOperator(StrEnum):
    """How a toleration compares with a taint."""

    EQUAL = "Equal"
    EXISTS = "Exists"


@final
class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@final
@dataclass(frozen=True, slots=True)
class ImageSpec:
    """The container images."""

    broker: str | None = described(
        "Image of the brokers. Naming another image restarts them, one member after another.",
        None,
        text=_IMAGE,
        default_words="the image that the operator had when the group was created",
        example="registry.example.com/gantry/broker:1.0",
    )
    name_server: str | None = described(
        "Image of the name servers. Naming another image restarts them.",
        None,
        text=_IMAGE,
        default_words="the image that the operator had when the name servers were created",
        example="registry.example.com/gantry/namesrv:1.0",
    )
    pull_policy: PullPolicy | None = described(
        "When a node pulls the images.", None, default_words="as the operator is configured"
    )
    pull_secrets: tuple[str, ...] = described(
        "Names of Secrets in the same namespace with the credentials of the image registry.",
        (),
        text=_NAME,
        max_items=_PULL_SECRETS_MAX,
        default_words="as the operator is configured",
        example="[registry-credentials]",
    )


@final
@dataclass(frozen=True, slots=True)
class ContainerResources:
    """CPU and memory of a container."""

    RULES: ClassVar[tuple[Rule, ...]] = (REQUESTS_WITHIN_LIMITS,)

    requests: Mapping[str, Quantity] = described(
        "What a node must have free for the container.",
        factory=dict,
        text=Text(32),
        max_items=_RESOURCES_MAX,
        rules=(*RESOURCE_NAME_RULES, *QUANTITY_RULES),
        default_words="none, once resources are given",
        example="{cpu: 250m, memory: 1Gi}",
    )
    limits: Mapping[str, Quantity] = described(
        "What the container may use at most. Brokers size their caches by the memory limit.",
        factory=dict,
        text=Text(32),
        max_items=_RESOURCES_MAX,
        rules=(*RESOURCE_NAME_RULES, *QUANTITY_RULES),
        default_words="none, once resources are given",
        example="{memory: 1Gi}",
    )


def _broker_resources() -> ContainerResources:
    memory = Quantity("1Gi")
    return ContainerResources({"cpu": Quantity("250m"), "memory": memory}, {"memory": memory})


def _name_server_resources() -> ContainerResources:
    memory = Quantity("128Mi")
    return ContainerResources({"cpu": Quantity("50m"), "memory": memory}, {"memory": memory})


@final
@dataclass(frozen=True, slots=True)
class ResourcesSpec:
    """CPU and memory of brokers and name servers."""

    broker: ContainerResources = described(
        "CPU and memory of each broker. Giving this field replaces its default as a whole.",
        factory=_broker_resources,
        rules=BROKER_MEMORY_RULES,
    )
    name_server: ContainerResources = described(
        "CPU and memory of each name server. Giving this field replaces its default as a whole.",
        factory=_name_server_resources,
    )


@final
@dataclass(frozen=True, slots=True)
class Toleration:
    """A taint that the pods tolerate, as in a pod's own tolerations."""

    RULES: ClassVar[tuple[Rule, ...]] = TOLERATION_RULES

    key: str = described(
        "Key of the taint.",
        "",
        text=Text(317),
        default_words="all taints, with operator Exists",
        example="dedicated",
    )
    operator: TolerationOperator = described(
        "How the taint's value counts: `Equal` tolerates this value only, `Exists` any value.",
        TolerationOperator.EQUAL,
    )
    value: str = described(
        "Value of the taint, with operator Equal.",
        "",
        text=_LABEL_VALUE,
        default_words="the empty value",
        example="messaging",
    )
    effect: TaintEffect | None = described(
        "Effect of the taint.", None, default_words="all effects"
    )
    toleration_seconds: int | None = described(
        "For how long a pod stays on a node that got the taint, with effect NoExecute.",
        None,
        minimum=0,
        maximum=86_400,
        default_words="for ever",
    )


@final
@dataclass(frozen=True, slots=True)
class SchedulingSpec:
    """On which nodes the pods run. Members of a group never share a node."""

    zones: Zones = described(
        "Whether the members of a group run in different zones: `Prefer` if possible, `Require`"
        " leaves a member pending otherwise, `Ignore` does not consider zones. A node's zone is"
        " its label topology.kubernetes.io/zone.",
        Zones.PREFER,
    )
    node_selector: Mapping[str, str] = described(
        "Labels that a node must have.",
        factory=dict,
        text=_LABEL_VALUE,
        max_items=_LABELS_MAX,
        rules=LABEL_KEY_RULES,
        default_words="any node",
        example="{disk: ssd}",
    )
    tolerations: tuple[Toleration, ...] = described(
        "Taints of nodes that the pods tolerate.",
        (),
        max_items=_TOLERATIONS_MAX,
        default_words="none",
        example="[{key: dedicated, value: messaging, effect: NoSchedule}]",
    )
    priority_class_name: str | None = described(
        "PriorityClass of the pods.",
        None,
        text=_NAME,
        default_words="the default of the Kubernetes cluster",
    )


@final
@dataclass(frozen=True, slots=True)
class PodsSpec:
    """Further properties of the pods."""

    labels: Mapping[str, str] = described(
        "Labels added to the pods.",
        factory=dict,
        text=_LABEL_VALUE,
        max_items=_LABELS_MAX,
        rules=(*LABEL_KEY_RULES, *OWNED_LABEL_RULES),
        default_words="none",
        example="{team: payments}",
    )
    annotations: Mapping[str, str] = described(
        "Annotations added to the pods.",
        factory=dict,
        text=Text(_ANNOTATION_VALUE_MAX),
        max_items=_LABELS_MAX,
        rules=(*LABEL_KEY_RULES, *OWNED_LABEL_RULES),
        default_words="none",
        example='{sidecar.istio.io/inject: "false"}',
    )
    log_format: LogFormat = described(
        "How brokers and name servers write their logs: `console` for people, `json` an object a"
        " line, for collectors of logs. A change restarts the pods, one after another.",
        LogFormat.CONSOLE,
    )
    termination_grace_period_seconds: int = described(
        "How long a broker may take to stop before it is killed.",
        TERMINATION_SECONDS_MIN,
        minimum=TERMINATION_SECONDS_MIN,
        maximum=3600,
    )
