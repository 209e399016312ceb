"""Writes dataclasses of the model as JSON with camelCase keys, without keys for absent values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from gantrymq.base.camelcase import camel_case


def to_json(value: Any) -> Any:
    """Return the JSON of a value, without fields that are None."""
    return _json(value, leaves_defaults_out=False)


def to_short_json(value: Any) -> Any:
    """Return the JSON of a value, without fields that have their default."""
    return _json(value, leaves_defaults_out=True)


def _json(value: Any, *, leaves_defaults_out: bool) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            camel_case(each.name): _json(member, leaves_defaults_out=leaves_defaults_out)
            for each in dataclasses.fields(value)
            if (member := getattr(value, each.name)) is not None
            and not (leaves_defaults_out and _is_default(each, member))
        }
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {
            str(key): _json(each, leaves_defaults_out=leaves_defaults_out)
            for key, each in value.items()
        }
    if isinstance(value, tuple | list):
        return [_json(each, leaves_defaults_out=leaves_defaults_out) for each in value]
    return value


def _is_default(each: dataclasses.Field[Any], value: Any) -> bool:
    if each.default_factory is not dataclasses.MISSING:
        return bool(value == each.default_factory())
    return bool(value == each.default)
