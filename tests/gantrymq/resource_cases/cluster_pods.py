"""Cases of the parts of a BrokerCluster that shape its pods."""

from __future__ import annotations

from typing import Final

from gantrymq.resource_cases.case import Cases

_CASES: Final = Cases("BrokerCluster", {})
_good, _bad, _outside = _CASES.good, _CASES.bad, _CASES.outside

_IMAGE: Final = (
    _good("image", {"broker": "a/b:1", "nameServer": "a/b@sha256:" + "0" * 64}),
    _good("image.broker", "a" * 512),
    _outside("image.broker", "a" * 513, "512"),
    _bad("image.broker", "a b", "container image"),
    _bad("image.broker", "", "container image"),
    _bad("image.nameServer", "", "container image"),
    _good("image.pullPolicy", "Always"),
    _outside("image.pullPolicy", "No", '"IfNotPresent"'),
    _good("image.pullSecrets", ["a", "b.c"]),
    _bad("image.pullSecrets", ["A"], "name of an object", at="spec.image.pullSecrets.0"),
    _outside("image.pullSecrets", ["a"] * 17, "16"),
)

_BROKER: Final = "resources.broker"
_REQUESTS: Final = f"{_BROKER}.requests"
_LIMITS: Final = f"{_BROKER}.limits"
_NAME_SERVER: Final = "resources.nameServer"

_RESOURCES: Final = (
    _good(_LIMITS, {"memory": "256Mi"}),
    _bad(_LIMITS, {"memory": "255Mi"}, "at least 256Mi", at=f"spec.{_BROKER}"),
    _good(_LIMITS, {"cpu": 2, "memory": "2Gi"}),
    _good(_REQUESTS, {"cpu": "100m"}),
    _good(_LIMITS, {"example.com/device": 1, "hugepages-2Mi": "64Mi"}),
    _good(_BROKER, {"requests": {"cpu": "1000m"}, "limits": {"cpu": 1}}),
    _bad(_BROKER, {"requests": {"cpu": "1001m"}, "limits": {"cpu": 1}}, "must not exceed limits"),
    _bad(_REQUESTS, {"cpu": "many"}, "quantities above zero"),
    _bad(_LIMITS, {"cpu": 0}, "quantities above zero"),
    _bad(_LIMITS, {"cpu": "-1"}, "quantities above zero"),
    _bad(_LIMITS, {"ram": "1Gi"}, "resources of a container"),
    _outside(_LIMITS, {"cpu": "1" * 33}, "32", at=".cpu"),
    _outside(_LIMITS, {"cpu": 0.5}, "integer,string", at=".cpu"),
    _outside(_LIMITS, {f"example.com/d{index}": 1 for index in range(17)}, "16"),
    _good(_NAME_SERVER, {"limits": {"memory": "64Mi"}}),
    _bad(_NAME_SERVER, {"requests": {"cpu": 2}, "limits": {"cpu": 1}}, "must not exceed limits"),
    _bad(f"{_NAME_SERVER}.requests", {"cpu": "x"}, "quantities above zero"),
    _bad(f"{_NAME_SERVER}.limits", {"x": 1}, "resources of a container"),
)

_SELECTOR: Final = "scheduling.nodeSelector"
_TOLERATIONS: Final = "scheduling.tolerations"
_FIRST: Final = f"spec.{_TOLERATIONS}.0"
_EXECUTE: Final = {"key": "a", "effect": "NoExecute"}

_SCHEDULING: Final = (
    _good("scheduling.zones", "Require"),
    _good("scheduling.zones", "Ignore"),
    _outside("scheduling.zones", "prefer", '"Prefer"'),
    _good(_SELECTOR, {"disk": "ssd", "example.com/pool": ""}),
    _good(_SELECTOR, {"app.kubernetes.io/name": "x"}),
    _bad(_SELECTOR, {"a b": "c"}, "names of labels"),
    _bad(_SELECTOR, {"a": "b c"}, "label value", at=f"spec.{_SELECTOR}.a"),
    _outside(_SELECTOR, {"a": "b" * 64}, "63", at=".a"),
    _outside(_SELECTOR, {f"k{index}": "" for index in range(33)}, "32"),
    _good(_TOLERATIONS, [{"operator": "Exists"}]),
    _good(_TOLERATIONS, [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]),
    _good(_TOLERATIONS, [{**_EXECUTE, "operator": "Exists", "tolerationSeconds": 0}]),
    _bad(_TOLERATIONS, [{"value": "x"}], "without a key", at=f"{_FIRST}.operator"),
    _bad(
        _TOLERATIONS,
        [{"key": "a", "operator": "Exists", "value": "b"}],
        "has no value",
        at=f"{_FIRST}.value",
    ),
    _bad(
        _TOLERATIONS,
        [{"key": "a", "tolerationSeconds": 1}],
        "needs effect NoExecute",
        at=f"{_FIRST}.tolerationSeconds",
    ),
    _bad(_TOLERATIONS, [{"key": "a", "value": "b c"}], "label value", at=f"{_FIRST}.value"),
    _outside(_TOLERATIONS, [{"key": "a", "operator": "In"}], '"Exists"', at=".0.operator"),
    _outside(_TOLERATIONS, [{"key": "a", "effect": "No"}], '"NoExecute"', at=".0.effect"),
    _outside(_TOLERATIONS, [{"key": "a" * 318}], "317", at=".0.key"),
    _outside(
        _TOLERATIONS,
        [{**_EXECUTE, "tolerationSeconds": -1}],
        "or equal to 0",
        at=".0.tolerationSeconds",
    ),
    _outside(
        _TOLERATIONS,
        [{**_EXECUTE, "tolerationSeconds": 86_401}],
        "or equal to 86400",
        at=".0.tolerationSeconds",
    ),
    _outside(_TOLERATIONS, [{"operator": "Exists"}] * 33, "32"),
    _good("scheduling.priorityClassName", "messaging"),
    _bad("scheduling.priorityClassName", "A", "name of an object"),
    _outside("scheduling.priorityClassName", "a" * 254, "253"),
)

_GRACE: Final = "pods.terminationGracePeriodSeconds"

_PODS: Final = (
    _good("pods.labels", {"team": "a", "example.com/x": "y"}),
    _bad("pods.labels", {"app.kubernetes.io/name": "x"}, "app.kubernetes.io/ are set by the"),
    _bad("pods.labels", {"gantrymq.dev/group": "x"}, "gantrymq.dev/ are set by the operator"),
    _bad("pods.labels", {"statefulset.kubernetes.io/x": "x"}, "are set by the operator"),
    _bad("pods.labels", {"-a": "x"}, "names of labels"),
    _bad("pods.labels", {"a": "-"}, "label value", at="spec.pods.labels.a"),
    _outside("pods.labels", {"a": "b" * 64}, "63", at=".a"),
    _outside("pods.labels", {f"k{index}": "" for index in range(33)}, "32"),
    _good("pods.annotations", {"a": "any text, with blanks\nand lines"}),
    _bad("pods.annotations", {"gantrymq.dev/x": ""}, "are set by the operator"),
    _bad("pods.annotations", {"a b": ""}, "names of labels"),
    _outside("pods.annotations", {"a": "x" * 8193}, "8192", at=".a"),
    _good(_GRACE, 60),
    _good(_GRACE, 3600),
    _outside(_GRACE, 59, "or equal to 60"),
    _outside(_GRACE, 3601, "or equal to 3600"),
    _good("pods.logFormat", "json"),
    _outside("pods.logFormat", "xml", "supported values"),
)

POD_CASES: Final = (*_IMAGE, *_RESOURCES, *_SCHEDULING, *_PODS)
