"""Reads Topic resources that the API server returns into reduced values.

A stored resource may break the schema (if it was stored with an older schema, or none), so the spec
is checked again. A fault becomes the `problem` of the resource, and never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from sys import intern
from typing import Any, Final, TypeAlias

from gantrymq.operator.resources.parsing import parse_topic
from gantrymq.operator.resources.topic.topic import QueueCounts
from gantrymq.operator.resources.topic.topic import TopicSpec as ParsedSpec
from gantrymq.operator.topics.names import topic_fault
from gantrymq.operator.topics.values import (
    Condition,
    GroupStatus,
    TopicResource,
    TopicSpec,
    TopicStatus,
)

# Any: JSON of the API server, checked member by member.
Json: TypeAlias = Mapping[str, Any]

_SHARED: Final = 4096
"""The most distinct values that topics share: many more than the topics of a cluster have."""


def topic_from_json(body: Json, known: TopicResource | None = None) -> TopicResource:
    """Return the resource. If its spec is invalid, `spec` is None and `problem` says why.

    `known` is the resource before: a spec of the same generation is not parsed again.
    """
    metadata = body.get("metadata") or {}
    spec = body.get("spec")
    fields = spec if isinstance(spec, Mapping) else {}
    cluster = fields.get("cluster")
    name = str(metadata.get("name", ""))
    uid, generation = str(metadata.get("uid", "")), int(metadata.get("generation") or 0)
    if known is not None and (known.uid, known.generation) == (uid, generation):
        reduced, problem = known.spec, known.problem
    else:
        reduced, problem = _spec(body)
    return TopicResource(
        namespace=intern(str(metadata.get("namespace", ""))),
        name=name,
        uid=uid,
        created=intern(str(metadata.get("creationTimestamp", ""))),
        generation=generation,
        resource_version=str(metadata.get("resourceVersion", "")),
        cluster=intern(cluster) if isinstance(cluster, str) else "",
        spec=reduced,
        problem=problem,
        status=_status(body.get("status"), name if reduced is None else reduced.topic_name),
        finalizers=tuple(map(intern, metadata.get("finalizers") or ())),
        deleted=_seconds(metadata.get("deletionTimestamp")),
    )


def _seconds(text: str | None) -> float | None:
    if not text:
        return None
    return datetime.fromisoformat(text).astimezone(UTC).timestamp()


# ---------------------------------------------------------------------- the spec


def _spec(body: Json) -> tuple[TopicSpec | None, str]:
    """Return the spec with shared parts, or the problems in words."""
    parsed = parse_topic(body)
    if parsed.spec is None:
        return None, parsed.message
    fault = topic_fault(parsed.spec.topic_name)
    return (None, f"spec.{fault}") if fault else (_reduced(parsed.spec), "")


def _reduced(spec: ParsedSpec) -> TopicSpec:
    return TopicSpec(
        cluster=intern(spec.cluster),
        topic_name=spec.topic_name,
        queues=_shared_queues(spec.write_queues, spec.read_queues),
        perm=spec.perm.number,
        order=spec.order,
        groups=tuple((intern(name), _group_queues(spec, name)) for name in sorted(spec.groups)),
        attributes=_shared_attributes(tuple(sorted(spec.attributes.items()))),
        adopt=spec.adopt,
        deletion_policy=spec.deletion_policy,
    )


def _group_queues(spec: ParsedSpec, group: str) -> QueueCounts:
    queues = spec.queues(group)
    return _shared_queues(queues.write, queues.read)


# ---------------------------------------------------------------------- the status


def _status(status: Any, topic_name: str) -> TopicStatus:
    if not isinstance(status, Mapping) or not status:
        return TopicStatus()
    name = str(status.get("topicName", ""))
    return TopicStatus(
        observed_generation=int(status.get("observedGeneration") or 0),
        phase=intern(str(status.get("phase", ""))),
        topic_name=topic_name if name == topic_name else name,
        conditions=tuple(_condition(each) for each in status.get("conditions") or ()),
        groups=_shared_groups(tuple(_group(each) for each in status.get("groups") or ())),
        drift=tuple(map(str, status.get("drift") or ())),
        created=bool(status.get("created")),
    )


def _condition(fields: Json) -> Condition:
    return Condition(
        intern(str(fields.get("type", ""))),
        fields.get("status") == "True",
        intern(str(fields.get("reason", ""))),
        intern(str(fields.get("message", ""))),
        intern(str(fields.get("lastTransitionTime", ""))),
    )


def _group(fields: Json) -> GroupStatus:
    return group_status(
        str(fields.get("name", "")),
        int(fields.get("writeQueues") or 0),
        int(fields.get("readQueues") or 0),
        str(fields.get("perm", "")),
    )


@lru_cache(_SHARED)
def group_status(name: str, write: int, read: int, perm: str) -> GroupStatus:
    """Return the entry of one group. Topics with equal entries share it."""
    return GroupStatus(name, write, read, perm)


@lru_cache(_SHARED)
def _shared_groups(groups: tuple[GroupStatus, ...]) -> tuple[GroupStatus, ...]:
    return groups


@lru_cache(_SHARED)
def _shared_queues(write: int, read: int) -> QueueCounts:
    return QueueCounts(write, read)


@lru_cache(_SHARED)
def _shared_attributes(attributes: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return attributes
