"""Compares a wanted object with the object at the API server.

Only fields that the operator sets count: the server adds defaults, and other writers may add
labels, containers and environment variables. So the wanted object must be a subset of the other.
Lists whose items have a key (as server-side apply merges them) are compared item by item, other
lists as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.resources.quantity import parse_quantity

# The first of these that each wanted item has is the key of the list.
_KEYS: Final = ("name", "mountPath", "uid", "topologyKey", "containerPort", "port")

# Values below these fields are quantities, which the server writes in its own way.
_QUANTITIES: Final = frozenset({"requests", "limits"})

# An additional label in these fields would select other pods.
_EXACT: Final = frozenset({"selector", "matchLabels"})


def drift(wanted: Json, found: Json) -> str | None:
    """Describe the first field that differs from the wanted one; None if no field differs."""
    for key in ("metadata", *(each for each in wanted if each != "metadata")):
        if key in ("apiVersion", "kind", "status"):
            continue
        difference = _difference(wanted.get(key), found.get(key), key)
        if difference is not None:
            return difference
    return None


# Any: values of JSON.
def _difference(wanted: Any, found: Any, path: str, *, is_quantity: bool = False) -> str | None:
    if _is_empty(wanted) and _is_empty(found):
        return None
    if isinstance(wanted, dict) and isinstance(found, dict):
        if path.rpartition(".")[2] in _EXACT and (more := sorted(found.keys() - wanted.keys())):
            return f"{path} has {', '.join(more)}"
        return _of_maps(wanted, found, path, is_quantity=is_quantity)
    if isinstance(wanted, list) and isinstance(found, list):
        return _of_lists(wanted, found, path)
    if wanted == found or (is_quantity and _is_same_quantity(wanted, found)):
        return None
    return f"{path} is missing" if found is None else f"{path} is {_shown(found)}"


def _of_maps(
    wanted: Mapping[str, Any], found: Mapping[str, Any], path: str, *, is_quantity: bool
) -> str | None:
    for key, value in wanted.items():
        below = is_quantity or key in _QUANTITIES
        difference = _difference(value, found.get(key), f"{path}.{key}", is_quantity=below)
        if difference is not None:
            return difference
    return None


def _of_lists(wanted: list[Any], found: list[Any], path: str) -> str | None:
    key = _key_of(wanted)
    if key is None:
        if len(wanted) != len(found):
            return f"{path} has {len(found)} items"
        pairs = zip(wanted, found, map(str, range(len(wanted))), strict=True)
        return _first(_difference(one, two, f"{path}[{name}]") for one, two, name in pairs)
    items = [item for item in found if isinstance(item, dict)]
    by_key = {item[key]: item for item in items if isinstance(item.get(key), str | int)}
    return _first(
        _difference(item, by_key.get(item[key]), f"{path}[{item[key]}]") for item in wanted
    )


def _first(differences: Any) -> str | None:  # Any: a generator of texts
    return next((each for each in differences if each is not None), None)


def _key_of(items: list[Any]) -> str | None:
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    for key in _KEYS:
        values = [item.get(key) for item in items]
        are_names = all(isinstance(value, str | int) for value in values)
        if are_names and len(set(values)) == len(values):
            return key
    return None


def _is_empty(value: Any) -> bool:
    return value is None or value in ({}, [])


def _is_same_quantity(wanted: Any, found: Any) -> bool:
    one, two = parse_quantity(str(wanted)), parse_quantity(str(found))
    return one is not None and one == two


def _shown(value: Any) -> str:
    text = str(value)
    return repr(value) if len(text) <= 80 else f"{text[:77]!r}..."
