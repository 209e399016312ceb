"""Defines the API group, and the names that clusters, groups and topics may have."""

from __future__ import annotations

from typing import Final

from gantrymq.operator.resources.fields import Text

GROUP: Final = "gantrymq.dev"
VERSION: Final = "v1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
CATEGORY: Final = "gantry"

GROUPS_MAX: Final = 64
"""The most groups of a cluster: a route has all of them, and each renews a Lease every 0.8 s."""
MEMBERS_MAX: Final = 5
"""The most members of a group: the master sends its log to each of the others."""

CLUSTER_NAME_MAX: Final = 40
"""Leaves 23 of a label's 63 characters to `-broker-63` and the hash of a StatefulSet's revision."""
TOPIC_NAME_MAX: Final = 127
"""RocketMQ's bound."""

CLUSTER_NAME_PATTERN: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
GROUP_NAME_PATTERN: Final = "broker-([0-9]|[1-5][0-9]|6[0-3])"
RESERVED_NAME_PATTERN: Final = "broker-[0-9]+"
"""Names of groups, of any number: RocketMQ creates a topic with the name of each."""
TOPIC_NAME_PATTERN: Final = "[%|a-zA-Z0-9_-]+"

CLUSTER_NAME: Final = Text(
    CLUSTER_NAME_MAX,
    CLUSTER_NAME_PATTERN,
    "must be the name of a BrokerCluster: lower-case letters, digits and hyphens, beginning with a"
    " letter and ending with a letter or digit",
)
TOPIC_NAME: Final = Text(
    TOPIC_NAME_MAX,
    TOPIC_NAME_PATTERN,
    "must be letters, digits, or any of % | _ - (RocketMQ's rule for topics)",
)

# RocketMQ's system topics, which brokers refuse to change or delete.
SYSTEM_TOPICS: Final = (
    "TBW102",
    "SCHEDULE_TOPIC_XXXX",
    "BenchmarkTest",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRACE_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC",
    "OFFSET_MOVED_EVENT",
    "CHECKPOINT_TOPIC",
)
SYSTEM_TOPIC_PREFIX: Final = "rmq_sys_"


def group_name(index: int) -> str:
    """Return the name of a group, which is its `brokerName`."""
    return f"broker-{index}"


def group_index(name: str) -> int:
    """Return the index of a group with a valid name."""
    return int(name.removeprefix("broker-"))
