"""Lists the rules about name, replicas, storage and settings of a cluster, in CEL and Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from gantrymq.operator.resources.fields import Rule, quoted
from gantrymq.operator.resources.names import (
    CLUSTER_NAME_MAX,
    CLUSTER_NAME_PATTERN,
    GROUP_NAME_PATTERN,
    RESERVED_NAME_PATTERN,
    group_index,
)
from gantrymq.operator.resources.quantity import parse_quantity

STORAGE_MIN: Final = "1Gi"
"""The least size of a volume: that of one file of the commit log."""

_CLUSTER_NAME: Final = re.compile(CLUSTER_NAME_PATTERN)
_GROUP_NAME: Final = re.compile(GROUP_NAME_PATTERN)
_RESERVED: Final = re.compile(RESERVED_NAME_PATTERN)
_CONFIG_KEY: Final = re.compile("[A-Za-z][A-Za-z0-9_.]{0,127}")


def _name(resource: Mapping[str, Any]) -> str:
    return str(resource["metadata"]["name"])


NAME_RULES: Final = (
    Rule(
        f"self.metadata.name.size() <= {CLUSTER_NAME_MAX}",
        f"must have at most {CLUSTER_NAME_MAX} characters, because names of pods and"
        " Services are made from it",
        lambda resource: len(_name(resource)) <= CLUSTER_NAME_MAX,
        at="metadata.name",
    ),
    Rule(
        f"self.metadata.name.matches('^{CLUSTER_NAME_PATTERN}$')",
        "must begin with a letter and have only lower-case letters, digits and"
        " hyphens, because it is the beginning of Services' names",
        lambda resource: _CLUSTER_NAME.fullmatch(_name(resource)) is not None,
        at="metadata.name",
    ),
    Rule(
        f"!self.metadata.name.matches('^{RESERVED_NAME_PATTERN}$')",
        "must not be the name of a broker group (broker-0, broker-1, ...): RocketMQ"
        " keeps a topic of the cluster's name and one of each group's name",
        lambda resource: _RESERVED.fullmatch(_name(resource)) is None,
        at="metadata.name",
    ),
)

REPLICA_RULES: Final = (
    Rule(
        "!has(self.minInSyncReplicas) || self.minInSyncReplicas <= self.membersPerGroup",
        "must not exceed membersPerGroup, or no send would be acknowledged",
        lambda spec: spec.get("minInSyncReplicas", 0) <= spec["membersPerGroup"],
        at="minInSyncReplicas",
    ),
    Rule(
        "!has(self.minInSyncReplicas) || self.replication == 'sync'",
        "needs replication sync: with async, sends are acknowledged without waiting for followers",
        lambda spec: "minInSyncReplicas" not in spec or spec["replication"] == "sync",
        at="minInSyncReplicas",
    ),
)


def _preferred(spec: Mapping[str, Any]) -> Mapping[str, int]:
    preferred: Mapping[str, int] = spec.get("preferredMasters", {})
    return preferred


def _has_groups(spec: Mapping[str, Any]) -> bool:
    return all(
        _GROUP_NAME.fullmatch(name) is not None and group_index(name) < spec["groups"]
        for name in _preferred(spec)
    )


PREFERRED_RULES: Final = (
    Rule(
        "!has(self.preferredMasters) || self.preferredMasters.all(name,"
        f" name.matches('^{GROUP_NAME_PATTERN}$') && int(name.substring(7)) < self.groups)",
        "must name groups of this cluster: broker-0 to broker-<groups - 1>",
        _has_groups,
        at="preferredMasters",
    ),
    Rule(
        "!has(self.preferredMasters) || self.preferredMasters.all(name,"
        " self.preferredMasters[name] <= self.membersPerGroup)",
        "must name members 1 to membersPerGroup",
        lambda spec: all(member <= spec["membersPerGroup"] for member in _preferred(spec).values()),
        at="preferredMasters",
    ),
)

TLS_RULES: Final = (
    Rule(
        "!has(self.replicationTls) || self.replicationTls == 'accepted' || !has(self.config)"
        " || !('tls.server.mode' in self.config)"
        " || !string(self.config['tls.server.mode']).matches('(?i)^ *disabled *$')",
        "needs members that take TLS: remove tls.server.mode: disabled from config, or set"
        " permissive or enforcing there",
        lambda spec: (
            spec.get("replicationTls", "accepted") == "accepted"
            or str(spec.get("config", {}).get("tls.server.mode")).strip().lower() != "disabled"
        ),
        at="replicationTls",
    ),
)

NO_LISTENERS: Final = Rule(
    "self.size() == 0",
    "must be empty: access from outside of the Kubernetes cluster comes in a later version",
    lambda listeners: not listeners,
)


def _is_storage_size(text: str) -> bool:
    size, least = parse_quantity(text), parse_quantity(STORAGE_MIN)
    return size is not None and least is not None and size >= least


STORAGE_SIZE_RULES: Final = (
    Rule(
        f"isQuantity(self) && quantity(self).compareTo(quantity('{STORAGE_MIN}')) >= 0",
        f"must be a quantity of at least {STORAGE_MIN}, such as 20Gi",
        _is_storage_size,
    ),
    Rule(
        "!isQuantity(self) || !isQuantity(oldSelf)"
        " || quantity(self).compareTo(quantity(oldSelf)) >= 0",
        "may only grow: a volume cannot be reduced",
    ),
)

STORAGE_RULES: Final = (
    Rule(
        "has(self.storageClassName) == has(oldSelf.storageClassName)"
        " && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",
        "cannot be changed after creation: create another BrokerCluster and move"
        " producers and consumers there",
        at="storageClassName",
    ),
)

# Keys of namesrv.properties that the operator sets, with what to use instead.
_OWN_NAME_SERVER_KEYS: Final[Mapping[str, str]] = {
    "listenPort": "it is 9876",
    "metricsPort": "it is 5558",
    "bindAddress": "name servers listen on all addresses of their pod",
}

# Keys of broker.conf that the operator sets, with what to use instead.
_OWN_KEYS: Final[Mapping[str, str]] = {
    "brokerRole": "use spec.replication",
    "flushDiskType": "use spec.flush",
    "minInSyncReplicas": "use spec.minInSyncReplicas",
    "brokerClusterName": "it is metadata.name",
    "brokerName": "it is broker-0, broker-1, ...",
    "brokerId": "the members elect their master",
    "groupMembers": "use spec.membersPerGroup",
    "memberNumber": "it is the pod's ordinal plus one",
    "groupSecretFile": "it is the Secret <cluster>-replication",
    "haTls": "use spec.replicationTls",
    "groupAddress": "it is the group's Service",
    "publishService": "it is the group's Service",
    "leaseName": "it is <cluster>-<group>",
    "leaseNamespace": "it is the namespace of the BrokerCluster",
    "leaseUrl": "it is the Kubernetes API of the pod",
    "namesrvAddr": "use spec.nameServers",
    "listenPort": "it is 10911",
    "haListenPort": "it is 10912",
    "metricsPort": "it is 5557",
    "bindAddress": "brokers listen on all addresses of their pod",
    "brokerIP1": "it is the pod's address, and clients are given that of the group's Service",
    "brokerIP2": "it is the pod's address",
    "storePathRootDir": "it is on the member's volume",
}
OWNED_CONFIG_KEYS: Final = frozenset(_OWN_KEYS)


def _lacks(key: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda config: key not in config


def _config_rules(own_keys: Mapping[str, str]) -> tuple[Rule, ...]:
    return (
        *(
            Rule(
                f"!({quoted(key)} in self)",
                f"{key} is set by the operator: {instead}",
                _lacks(key),
            )
            for key, instead in own_keys.items()
        ),
        Rule(
            f"self.all(key, key.matches('^{_CONFIG_KEY.pattern}$'))",
            "keys must be settings such as fileReservedTime: letters, digits, dots and underscores",
            lambda config: all(_CONFIG_KEY.fullmatch(key) for key in config),
        ),
    )


CONFIG_RULES: Final = _config_rules(_OWN_KEYS)
NAME_SERVER_CONFIG_RULES: Final = _config_rules(_OWN_NAME_SERVER_KEYS)
