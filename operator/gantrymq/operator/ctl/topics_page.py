"""Formats the topics of a cluster: Topic resources, and topics without a resource."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from gantrymq.operator.ctl.columns import align

Json = dict[str, Any]

_NAME_MAX: Final = 253


def topic_lines(topics: Sequence[Json], unmanaged: Json) -> list[str]:
    """Return a table of the Topic resources, and then the topics that no resource names."""
    rows: list[tuple[str, ...]] = [("TOPIC", "RESOURCE", "QUEUES", "PHASE", "MESSAGE")]
    rows += [_row(topic) for topic in topics]
    lines = align(rows) if topics else ["No Topic resource names this cluster."]
    count = unmanaged.get("count", 0)
    if count:
        lines += ["", f"{count} topics on the brokers have no resource:"]
        lines += [f"  {name}" for name in unmanaged.get("names", [])]
        lines += ["Adopt one: kubectl gantry topics CLUSTER --adopt NAME --queues WRITE/READ"]
    return lines


def _row(topic: Json) -> tuple[str, ...]:
    status = topic.get("status") or {}
    return (
        status.get("topicName") or topic["spec"].get("topicName") or topic["metadata"]["name"],
        topic["metadata"]["name"],
        status.get("queues", "-"),
        status.get("phase", "Pending"),
        status.get("message", "not seen by the operator yet"),
    )


def of_cluster(topics: Iterable[Json], cluster: str) -> list[Json]:
    """Return the Topics that name this cluster, sorted by topic name."""
    named = [topic for topic in topics if topic["spec"].get("cluster") == cluster]
    return sorted(named, key=lambda topic: _row(topic)[0])


def adopting(cluster: str, namespace: str, topic_name: str, queues: tuple[int, int]) -> Json:
    """Return a Topic that adopts an existing topic; `queues` are (write queues, read queues)."""
    write, read = queues
    return {
        "apiVersion": "gantrymq.dev/v1",
        "kind": "Topic",
        "metadata": {"name": object_name(topic_name), "namespace": namespace},
        "spec": {
            "cluster": cluster,
            "topicName": topic_name,
            "writeQueues": write,
            "readQueues": read,
            "adopt": True,
        },
    }


def object_name(topic_name: str) -> str:
    """Return a name that Kubernetes allows and that is close to the topic's."""
    name = re.sub(r"[^a-z0-9.-]+", "-", topic_name.lower()).strip("-.")
    return name[:_NAME_MAX] or "topic"
