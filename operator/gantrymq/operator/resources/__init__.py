"""The model of the resources BrokerCluster and Topic.

Dataclasses are the only source of schema, rules, defaults, documentation and parser.
`python -m tools.resources` writes the files that are generated from them.
"""

from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec
from gantrymq.operator.resources.cluster.cluster_status import BrokerClusterStatus
from gantrymq.operator.resources.parsing import parse_cluster, parse_topic
from gantrymq.operator.resources.problems import Parsed, Problem
from gantrymq.operator.resources.reasons.condition_list import (
    Condition,
    find_condition,
    read_conditions,
    set_condition,
)
from gantrymq.operator.resources.reasons.conditions import ConditionType, Kind, Reason
from gantrymq.operator.resources.topic.topic import TopicSpec
from gantrymq.operator.resources.topic.topic_status import TopicStatus

__all__ = [
    "BrokerClusterSpec",
    "BrokerClusterStatus",
    "Condition",
    "ConditionType",
    "Kind",
    "Parsed",
    "Problem",
    "Reason",
    "TopicSpec",
    "TopicStatus",
    "find_condition",
    "parse_cluster",
    "parse_topic",
    "read_conditions",
    "set_condition",
]
