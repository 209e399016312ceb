"""Lists the rules about a Topic's name, queues and attributes, in CEL and in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from gantrymq.operator.resources.fields import Rule, one_of
from gantrymq.operator.resources.names import (
    GROUP_NAME_PATTERN,
    RESERVED_NAME_PATTERN,
    SYSTEM_TOPIC_PREFIX,
    SYSTEM_TOPICS,
    TOPIC_NAME_MAX,
)

MESSAGE_TYPES: Final = ("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION")
GROUP_PREFIXES: Final = ("%RETRY%", "%DLQ%")
ATTRIBUTES: Final = ("message.type", "reserve.time")

_GROUP_NAME: Final = re.compile(GROUP_NAME_PATTERN)
_RESERVED: Final = re.compile(RESERVED_NAME_PATTERN)
_PLAIN_NAME: Final = re.compile(f"[a-z0-9-]{{1,{TOPIC_NAME_MAX}}}")
_HOURS: Final = re.compile("-1|0|[1-9][0-9]{0,17}")

CLUSTER_RULES: Final = (
    Rule(
        "self == oldSelf",
        "cannot be changed after creation: create another Topic for the other cluster",
    ),
)

TOPIC_NAME_RULES: Final = (
    Rule(
        f"!(self in {one_of(SYSTEM_TOPICS)}) && !self.startsWith('{SYSTEM_TOPIC_PREFIX}')",
        "is one of the topics of the brokers themselves; choose another name",
        lambda name: name not in SYSTEM_TOPICS and not name.startswith(SYSTEM_TOPIC_PREFIX),
    ),
    Rule(
        "!self.startsWith('%RETRY%') && !self.startsWith('%DLQ%')",
        "belongs to a consumer group: brokers make the topics that begin with %RETRY% and %DLQ%",
        lambda name: not name.startswith(GROUP_PREFIXES),
    ),
)

_TOPIC: Final = "(has(self.spec.topicName) ? self.spec.topicName : self.metadata.name)"


def topic_name(resource: Mapping[str, Any]) -> str:
    """Return the name of a resource's topic."""
    name = resource["spec"].get("topicName") or resource["metadata"]["name"]
    return str(name)


def _is_plain(resource: Mapping[str, Any]) -> bool:
    if "topicName" in resource["spec"]:
        return True
    return _PLAIN_NAME.fullmatch(resource["metadata"]["name"]) is not None


def _is_free(resource: Mapping[str, Any]) -> bool:
    topic, cluster = topic_name(resource), resource["spec"]["cluster"]
    return topic not in (cluster, f"{cluster}_REPLY_TOPIC") and not _RESERVED.fullmatch(topic)


RESOURCE_RULES: Final = (
    Rule(
        f"has(self.spec.topicName) || self.metadata.name.matches('^{_PLAIN_NAME.pattern}$')",
        f"has a dot or more than {TOPIC_NAME_MAX} characters, which RocketMQ does not"
        " allow in topics: give spec.topicName",
        _is_plain,
        at="metadata.name",
    ),
    Rule(
        f"{_TOPIC} != self.spec.cluster && {_TOPIC} != self.spec.cluster + '_REPLY_TOPIC'"
        f" && !{_TOPIC}.matches('^{RESERVED_NAME_PATTERN}$')",
        "must not be the name of the cluster, of the cluster's reply topic or of a broker group,"
        " which are topics of the brokers themselves; without it, metadata.name counts",
        _is_free,
        at="spec.topicName",
    ),
    Rule(
        f"{_TOPIC} == {_TOPIC.replace('self', 'oldSelf')}",
        "cannot be changed after creation: create another Topic and move producers"
        " and consumers there",
        at="spec.topicName",
    ),
)

QUEUE_RULES: Final = (
    Rule(
        "!has(self.readQueues) || self.readQueues >= self.writeQueues",
        "must be at least writeQueues, or messages would be sent to queues that no consumer"
        " reads; leave readQueues out to follow writeQueues",
        lambda spec: spec.get("readQueues", spec["writeQueues"]) >= spec["writeQueues"],
        at="readQueues",
    ),
)


def _groups(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    groups: Mapping[str, Any] = spec.get("groups", {})
    return groups


GROUP_RULES: Final = (
    Rule(
        "!has(self.groups) || self.groups.all(name, name.matches('^" + GROUP_NAME_PATTERN + "$'))",
        "must be named as broker groups are: broker-0 to broker-63",
        lambda spec: all(_GROUP_NAME.fullmatch(name) for name in _groups(spec)),
        at="groups",
    ),
    Rule(
        "!has(self.groups) || self.groups.all(name, has(self.groups[name].writeQueues)"
        " || !has(self.groups[name].readQueues)"
        " || self.groups[name].readQueues >= self.writeQueues)",
        "readQueues of a group must be at least spec.writeQueues where the group has no writeQueues"
        " of its own",
        lambda spec: all(
            "writeQueues" in group
            or group.get("readQueues", spec["writeQueues"]) >= spec["writeQueues"]
            for group in _groups(spec).values()
        ),
        at="groups",
    ),
)

GROUP_QUEUE_RULES: Final = (
    Rule(
        "!has(self.readQueues) || !has(self.writeQueues) || self.readQueues >= self.writeQueues",
        "must be at least writeQueues, or messages would be sent to queues that no consumer reads",
        lambda group: (
            group.get("readQueues", group.get("writeQueues", 0)) >= group.get("writeQueues", 0)
        ),
        at="readQueues",
    ),
)


ATTRIBUTE_RULES: Final = (
    Rule(
        f"self.all(key, key in {one_of(ATTRIBUTES)})",
        f"keys must be attributes of topics that brokers know: {', '.join(ATTRIBUTES)} (without a"
        " sign before them)",
        lambda attributes: set(attributes) <= set(ATTRIBUTES),
    ),
    Rule(
        f"!('message.type' in self) || self['message.type'] in {one_of(MESSAGE_TYPES)}",
        f"message.type must be one of {', '.join(MESSAGE_TYPES)}",
        lambda attributes: attributes.get("message.type", "NORMAL") in MESSAGE_TYPES,
    ),
    Rule(
        f"!('reserve.time' in self) || self['reserve.time'].matches('^({_HOURS.pattern})$')",
        'reserve.time must be a number of hours in quotation marks, or "-1" for no limit',
        lambda attributes: _HOURS.fullmatch(attributes.get("reserve.time", "0")) is not None,
    ),
)
