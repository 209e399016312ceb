"""Parses resources that the API server returns into specs, or into problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec
from gantrymq.operator.resources.decoding import (
    broken_rules,
    decode,
    find_problems,
    with_defaults,
)
from gantrymq.operator.resources.problems import Parsed
from gantrymq.operator.resources.topic.topic import TopicSpec

S = TypeVar("S", BrokerClusterSpec, TopicSpec)


def parse_cluster(resource: Mapping[str, Any]) -> Parsed[BrokerClusterSpec]:
    """Parse the spec of a BrokerCluster."""
    return _parse(BrokerClusterSpec, resource)


def parse_topic(resource: Mapping[str, Any]) -> Parsed[TopicSpec]:
    """Parse the spec of a Topic, and fill its name and its read queues."""
    parsed = _parse(TopicSpec, resource)
    spec = parsed.spec
    if spec is None:
        return parsed
    name = spec.topic_name or str(resource["metadata"]["name"])
    read_queues = spec.read_queues or spec.write_queues
    return Parsed(replace(spec, topic_name=name, read_queues=read_queues))


def _parse(kind: type[S], resource: Mapping[str, Any]) -> Parsed[S]:
    spec = with_defaults(kind, resource.get("spec", {}))
    problems = tuple(find_problems(kind, spec, "spec"))
    if not problems:
        whole = {"metadata": resource["metadata"], "spec": spec}
        problems = tuple(broken_rules(kind.RESOURCE_RULES, whole, ""))
    if problems:
        return Parsed(None, problems)
    return Parsed(decode(kind, spec))
