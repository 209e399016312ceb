"""Checks a value by a structural schema: types, bounds, required and unknown fields.

An API server does this before it evaluates rules. Written for tests apart from the parser, which
reads the dataclasses and not the schema made from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
_BOUNDS = (
    ("minimum", lambda value, bound: value >= bound),
    ("maximum", lambda value, bound: value <= bound),
    ("maxLength", lambda value, bound: not isinstance(value, str) or len(value) <= bound),
    ("maxItems", lambda value, bound: len(value) <= bound),
    ("maxProperties", lambda value, bound: len(value) <= bound),
    ("enum", lambda value, bound: value in bound),
)


def faulty_fields(schema: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    """The paths of all values that break the schema."""
    if not _has_type(schema, value):
        yield path
        return
    if any(key in schema and not holds(value, schema[key]) for key, holds in _BOUNDS):
        yield path
    if isinstance(value, dict):
        yield from _faulty_members(schema, value, path)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from faulty_fields(schema["items"], each, f"{path}.{index}")


def _has_type(schema: dict[str, Any], value: Any) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    if isinstance(value, bool):
        return bool(schema["type"] == "boolean")
    return isinstance(value, _TYPES[schema["type"]])


def _faulty_members(schema: dict[str, Any], value: dict[str, Any], path: str) -> Iterator[str]:
    if path == "metadata":
        return
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{path}.{key}".strip(".")
    properties = schema.get("properties", {})
    for key, each in value.items():
        inner = properties.get(key, schema.get("additionalProperties"))
        at = f"{path}.{key}".strip(".")
        if inner is None:
            yield at
        elif each is not None:
            yield from faulty_fields(inner, each, at)
