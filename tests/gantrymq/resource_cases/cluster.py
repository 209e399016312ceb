"""Cases of a BrokerCluster."""

from __future__ import annotations

from typing import Final

from gantrymq.resource_cases.case import Cases
from gantrymq.resource_cases.cluster_pods import POD_CASES

KIND: Final = "BrokerCluster"

_CASES: Final = Cases(KIND, {})
_good, _bad, _outside = _CASES.good, _CASES.bad, _CASES.outside

_NUMBERS: Final = (
    _good("", {}),
    _good("nameServers", 1),
    _good("nameServers", 9),
    _outside("nameServers", 0, "greater than or equal to 1"),
    _outside("nameServers", 10, "less than or equal to 9"),
    _good("groups", 1),
    _good("groups", 64),
    _outside("groups", 0, "greater than or equal to 1"),
    _outside("groups", 65, "less than or equal to 64"),
    _outside("groups", "2", "integer"),
    _outside("groups", 1.5, "must be of type int"),
    _good("groups", 3, before={"groups": 2}),
    _good("groups", 1, before={"groups": 2}),
    _good("membersPerGroup", 1),
    _good("membersPerGroup", 5),
    _outside("membersPerGroup", 0, "greater than or equal to 1"),
    _outside("membersPerGroup", 6, "less than or equal to 5"),
    _good("minInSyncReplicas", 1),
    _good("minInSyncReplicas", 2),
    _good("minInSyncReplicas", 5, also={"membersPerGroup": 5}),
    _outside("minInSyncReplicas", 0, "greater than or equal to 1"),
    _outside("minInSyncReplicas", 6, "less than or equal to 5"),
    _bad("minInSyncReplicas", 3, "must not exceed membersPerGroup"),
    _bad("minInSyncReplicas", 1, "needs replication sync", also={"replication": "async"}),
)

_NO_TLS: Final = {"config": {"tls.server.mode": "Disabled"}}

_WORDS: Final = (
    _good("replication", "sync"),
    _good("replication", "async"),
    _outside("replication", "SYNC_MASTER", 'supported values: "sync", "async"'),
    _good("flush", "sync"),
    _good("flush", "async"),
    _outside("flush", "", 'supported values: "async", "sync"'),
    _good("replicationTls", "accepted"),
    _good("replicationTls", "used"),
    _good("replicationTls", "required", also={"config": {"tls.server.mode": "enforcing"}}),
    _good("replicationTls", "accepted", also={"config": {"tls.server.mode": "disabled"}}),
    _outside("replicationTls", "on", 'supported values: "accepted", "used", "required"'),
    _bad("replicationTls", "used", "members that take TLS", also=_NO_TLS),
    _bad("replicationTls", "required", "members that take TLS", also=_NO_TLS),
    _good("replicationTls", "used", also={"config": {"tls.server.mode": 1}}),
    _good("paused", True),
    _outside("paused", "true", "boolean"),
    _good("listeners", []),
    _bad("listeners", [{}], "comes in a later version"),
    _outside("listeners", [{}] * 17, "16"),
)

_SIZE: Final = "storage.size"
_CLASS: Final = "storage.storageClassName"

_STORAGE: Final = (
    _good(_SIZE, "1Gi"),
    _good(_SIZE, "1073741824"),
    _good(_SIZE, "1.5Ti"),
    _bad(_SIZE, "1023Mi", "at least 1Gi"),
    _bad(_SIZE, "20GB", "such as 20Gi"),
    _bad(_SIZE, "", "such as 20Gi"),
    _bad(_SIZE, "-20Gi", "such as 20Gi"),
    _outside(_SIZE, 20, "string"),
    _outside(_SIZE, "1" * 33, "32"),
    _good(_SIZE, "30Gi", before={"storage": {"size": "20Gi"}}),
    _good(_SIZE, "1Gi", before={"storage": {"size": "1024Mi"}}),
    _bad(_SIZE, "19Gi", "may only grow", before={"storage": {"size": "20Gi"}}),
    _bad(_SIZE, "19Gi", "may only grow", before={}),
    _good(_CLASS, "local-ssd"),
    _good(_CLASS, "c" * 253),
    _outside(_CLASS, "c" * 254, "253"),
    _bad(_CLASS, "Local_SSD", "must be the name of an object"),
    _bad(_CLASS, "", "must be the name of an object"),
    _good("groups", 2, before={"storage": {"storageClassName": "a"}}),
    _bad(_CLASS, "b", "cannot be changed", before={"storage": {"storageClassName": "a"}}),
    _bad(_CLASS, "b", "cannot be changed", before={}),
    _bad(_CLASS, None, "cannot be changed", before={"storage": {"storageClassName": "a"}}),
    _good("storage.onClusterDeletion", "Delete"),
    _outside("storage.onClusterDeletion", "Keep", 'supported values: "Retain", "Delete"'),
    _outside("storage", "20Gi", "object"),
)

_PREFERRED: Final = (
    _good("preferredMasters", {"broker-0": 1, "broker-1": 2}, also={"groups": 2}),
    _good("preferredMasters", {"broker-10": 2}, also={"groups": 11}),
    _bad("preferredMasters", {"broker-1": 1}, "must name groups of this cluster"),
    _bad("preferredMasters", {"broker": 1}, "must name groups of this cluster"),
    _bad("preferredMasters", {"broker-00": 1}, "must name groups of this cluster"),
    _bad("preferredMasters", {"broker-0": 3}, "must name members"),
    _outside("preferredMasters", {"broker-0": 0}, "or equal to 1", at=".broker-0"),
    _outside("preferredMasters", {"broker-0": 6}, "or equal to 5", at=".broker-0"),
    _outside("preferredMasters", {"broker-0": "1"}, "integer", at=".broker-0"),
    _outside("preferredMasters", {f"broker-{index}": 1 for index in range(65)}, "64"),
)

_OWNED_KEYS: Final = (
    *("brokerRole", "brokerId", "brokerName", "brokerClusterName", "groupMembers", "memberNumber"),
    *("groupSecretFile", "groupAddress", "publishService", "leaseName", "leaseNamespace"),
    *("leaseUrl", "namesrvAddr", "listenPort", "haListenPort", "storePathRootDir"),
    *("flushDiskType", "minInSyncReplicas", "brokerIP1", "brokerIP2", "metricsPort", "bindAddress"),
)

_SECURE: Final = {"security": {"profile": "secure"}}
_OPEN: Final = {"security": {"profile": "open"}}
_PROFILE: Final = "security.profile"

_SECURITY: Final = (
    _good("security", {}),
    _outside("security", "secure", "object"),
    _good(_PROFILE, "open"),
    _good(_PROFILE, "secure"),
    _outside(_PROFILE, "safe", 'supported values: "open", "secure"'),
    _good(_PROFILE, "secure", before={}),
    _good(_PROFILE, "secure", before=_SECURE),
    _good("groups", 2, before=_SECURE),
    _bad(_PROFILE, "secure", "cannot be changed after creation", before=_OPEN),
    _bad(_PROFILE, "open", "cannot be changed after creation", before=_SECURE),
    *(
        case
        for field in ("accountsSecret", "tlsSecret")
        for case in (
            _good("security", {"profile": "secure", field: "orders-tls.v2"}),
            _bad(f"security.{field}", "orders", "needs profile: secure"),
            _bad(
                "security",
                {"profile": "open", field: "orders"},
                "needs profile: secure",
                at=f"spec.security.{field}",
            ),
            _bad(f"security.{field}", "Orders", "must be the name of a Secret"),
            _outside(f"security.{field}", "o" * 254, "253"),
        )
    ),
    _good("config", {"aclEnable": "true", "tls.server.mode": "enforcing"}, also=_OPEN),
    _good("config", {"authenticationEnabled": "true"}, also=_SECURE),
    _bad("config", {"aclEnable": "false"}, "security.profile: secure decides", also=_SECURE),
    _bad("config", {"tls.server.mode": "x"}, "security.profile: secure decides", also=_SECURE),
    _bad("nameServerConfig", {"aclFile": "x"}, "security.profile: secure decides", also=_SECURE),
    _good("replicationTls", "required", also=_SECURE),
    _bad("replicationTls", "used", "must be required, or absent", also=_SECURE),
)

_CONFIG: Final = (
    _good("config", {"fileReservedTime": 72, "autoCreateTopicEnable": "true"}),
    _good("config", {"k" * 128: "v"}),
    _good("config", {"key": "v" * 4096}),
    _outside("config", {"key": "v" * 4097}, "4096", at=".key"),
    _outside("config", {"key": True}, "integer,string", at=".key"),
    _outside("config", {"key": {}}, "integer,string", at=".key"),
    _outside("config", {f"k{index}": "v" for index in range(257)}, "256"),
    _bad("config", {"a b": "v"}, "keys must be settings"),
    _bad("config", {"a\nb": "v"}, "keys must be settings"),
    _bad("config", {"a\n": "v"}, "keys must be settings"),
    _bad("config", {"k" * 129: "v"}, "keys must be settings"),
    *(_bad("config", {key: "1"}, f"{key} is set by the operator") for key in _OWNED_KEYS),
    _good("nameServerConfig", {"warmUpSeconds": 5}),
    _outside("nameServerConfig", {"key": "v" * 4097}, "4096", at=".key"),
    _outside("nameServerConfig", [], "object"),
    _bad("nameServerConfig", {"": "v"}, "keys must be settings"),
    _bad("nameServerConfig", {"listenPort": 1}, "listenPort is set by the operator: it is 9876"),
    _bad("nameServerConfig", {"metricsPort": 1}, "metricsPort is set by the operator: it is 5558"),
    _bad("nameServerConfig", {"bindAddress": "::"}, "bindAddress is set by the operator"),
)

_NAMES: Final = (
    _good("", {}, name="a" * 40),
    _bad("", {}, "at most 40 characters", at="metadata.name", name="a" * 41),
    _bad("", {}, "begin with a letter", at="metadata.name", name="1a"),
    _bad("", {}, "begin with a letter", at="metadata.name", name="a.b"),
    _bad("", {}, "name of a broker group", at="metadata.name", name="broker-0"),
    _bad("", {}, "name of a broker group", at="metadata.name", name="broker-64"),
    _good("", {}, name="broker-x"),
)

CASES: Final = (
    *_NUMBERS,
    *_WORDS,
    *_STORAGE,
    *_PREFERRED,
    *_SECURITY,
    *_CONFIG,
    *_NAMES,
    *POD_CASES,
)
