"""Lists the rules about images, resources, labels and tolerations, in CEL and in Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from gantrymq.operator.resources.fields import Rule
from gantrymq.operator.resources.quantity import parse_quantity

BROKER_MEMORY_MIN: Final = "256Mi"
"""The least memory limit of a broker. With less there is no memory for the messages in flight."""

_OWNED_PREFIXES: Final = ("gantrymq.dev/", "app.kubernetes.io/", "statefulset.kubernetes.io/")
_LABEL_KEY: Final = (
    "([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_RESOURCE_NAME: Final = (
    "(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMG]i|[a-z0-9.-]{1,200}/[A-Za-z0-9._-]{1,63})"
)


def _all_match(pattern: str) -> tuple[str, re.Pattern[str]]:
    return f"self.all(key, key.matches('^{pattern}$'))", re.compile(pattern)


def _key_rule(pattern: str, message: str) -> Rule:
    cel, compiled = _all_match(pattern)
    return Rule(cel, message, lambda values: all(compiled.fullmatch(key) for key in values))


LABEL_KEY_RULES: Final = (
    _key_rule(
        _LABEL_KEY,
        "keys must be names of labels: at most 63 letters, digits, hyphens, underscores and dots,"
        " with a domain and a slash before them if wanted",
    ),
)


def _lacks_prefix(prefix: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda values: not any(key.startswith(prefix) for key in values)


OWNED_LABEL_RULES: Final = tuple(
    Rule(
        f"self.all(key, !key.startsWith('{prefix}'))",
        f"keys that begin with {prefix} are set by the operator; use a prefix of your own",
        _lacks_prefix(prefix),
    )
    for prefix in _OWNED_PREFIXES
)

RESOURCE_NAME_RULES: Final = (
    _key_rule(
        _RESOURCE_NAME,
        "keys must be resources of a container: cpu, memory, ephemeral-storage, or an extended"
        " resource such as example.com/device",
    ),
)


def _are_quantities(values: Mapping[str, Any]) -> bool:
    numbers = [parse_quantity(str(value)) for value in values.values()]
    return all(number is not None and number > 0 for number in numbers)


def _requests_fit(value: Mapping[str, Any]) -> bool:
    limits = value.get("limits", {})
    for key, request in value.get("requests", {}).items():
        asked, limit = parse_quantity(str(request)), parse_quantity(str(limits.get(key, request)))
        if asked is not None and limit is not None and asked > limit:
            return False
    return True


def _has_memory(value: Mapping[str, Any]) -> bool:
    least = parse_quantity(BROKER_MEMORY_MIN)
    limit = parse_quantity(str(value.get("limits", {}).get("memory", BROKER_MEMORY_MIN)))
    return least is None or limit is None or limit >= least


_VALUE: Final = "string(self[key])"

QUANTITY_RULES: Final = (
    Rule(
        f"self.all(key, isQuantity({_VALUE}) && quantity({_VALUE}).isGreaterThan(quantity('0')))",
        "values must be quantities above zero, such as 250m, 2 or 1Gi",
        _are_quantities,
    ),
)

_REQUEST: Final = "string(self.requests[key])"
_LIMIT: Final = "string(self.limits[key])"

REQUESTS_WITHIN_LIMITS: Final = Rule(
    "!has(self.requests) || !has(self.limits) || self.requests.all(key, !(key in self.limits)"
    f" || !isQuantity({_REQUEST}) || !isQuantity({_LIMIT})"
    f" || quantity({_REQUEST}).compareTo(quantity({_LIMIT})) <= 0)",
    "requests must not exceed limits",
    _requests_fit,
)

BROKER_MEMORY_RULES: Final = (
    Rule(
        "!has(self.limits) || !('memory' in self.limits)"
        " || !isQuantity(string(self.limits['memory']))"
        " || quantity(string(self.limits['memory']))"
        f".compareTo(quantity('{BROKER_MEMORY_MIN}')) >= 0",
        f"a broker needs a memory limit of at least {BROKER_MEMORY_MIN}",
        _has_memory,
    ),
)

TOLERATION_RULES: Final = (
    Rule(
        "self.operator == 'Exists' || (has(self.key) && self.key != '')",
        "a toleration without a key needs operator Exists",
        lambda value: value.get("operator") == "Exists" or bool(value.get("key")),
        at="operator",
    ),
    Rule(
        "self.operator != 'Exists' || !has(self.value) || self.value == ''",
        "a toleration with operator Exists has no value",
        lambda value: value.get("operator") != "Exists" or not value.get("value"),
        at="value",
    ),
    Rule(
        "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
        "tolerationSeconds needs effect NoExecute",
        lambda value: "tolerationSeconds" not in value or value.get("effect") == "NoExecute",
        at="tolerationSeconds",
    ),
)
