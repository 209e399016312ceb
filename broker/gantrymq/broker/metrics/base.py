"""Provides the labels that all metrics of a broker have, and values that several metrics share."""

from __future__ import annotations

from typing import Final

from gantrymq.base.disk import DiskError, Usage
from gantrymq.broker.core.monitoring.lag import NONE_MS
from gantrymq.broker.core.names.name_rules import DLQ_PREFIX, RETRY_PREFIX
from gantrymq.broker.core.names.system_topics import is_system_topic
from gantrymq.broker.core.state import State
from gantrymq.metrics.samples import base_text
from gantrymq.metrics.tables.rocketmq5 import BASE_LABELS

PROTOCOL: Final = "remoting"
STORE_LABELS: Final = ("local", "disk")

_NODE_TYPE: Final = "broker"
_SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"
_TRUTHS: Final = ("false", "true")


def base_of(state: State) -> str:
    """The labels of every sample as text: RocketMQ's, and those of the setting metricsLabel."""
    values = (state.identity.cluster, _NODE_TYPE, state.identity.name)
    labels = dict(zip(BASE_LABELS, values, strict=True))
    return base_text({**labels, **own_labels(state.settings.metrics_label)})


def own_labels(text: str) -> dict[str, str]:
    """The labels in the setting metricsLabel, `name:value,name:value`. Malformed parts are ignored,
    as in Java."""
    pairs = (pair.partition(":") for pair in text.split(",") if ":" in pair)
    return {
        name.strip(): value.strip()
        for name, _, value in pairs
        if name.strip().isidentifier() and name.strip().isascii()
    }


def age_ms(since_ms: int, wall_ms: int) -> int:
    """The milliseconds since this time; 0 for NONE_MS."""
    return 0 if since_ms == NONE_MS else max(0, wall_ms - since_ms)


def usage_of(state: State, folder: str) -> Usage | None:
    """The usage of the file system that has this folder of the store; None if it is unknown."""
    try:
        return state.store.disk.usage(folder)
    except DiskError:
        return None


def truth(value: bool) -> str:
    """The value of a label that is true or false, as RocketMQ writes it."""
    return _TRUTHS[value]


def is_system(topic: str, group: str = "") -> str:
    """The value of RocketMQ's label is_system for a topic, a group or both."""
    return truth(is_system_topic(topic) or group.startswith(_SYSTEM_GROUP_PREFIX))


def is_retry_or_dead(topic: str) -> bool:
    """Whether a topic is the retry topic or the dead-letter topic of a group."""
    return topic.startswith((RETRY_PREFIX, DLQ_PREFIX))
