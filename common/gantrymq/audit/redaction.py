"""Hides secrets in the old and new values of an audit entry, yet shows whether one changed.

A member is secret if its name says so. A secret that is the same before and after becomes `***`,
one that was changed `*** (changed)` in the new value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gantrymq.wire.jsonvalue import Json, JsonKey, JsonObject

HIDDEN: Final = "***"
CHANGED: Final = "*** (changed)"

_SECRET: Final = re.compile(
    r"secret|password|passwd|passphrase|token|credential|private_?key", re.IGNORECASE
)


def is_secret(name: JsonKey) -> bool:
    """Whether the value of a setting or member of this name is always hidden."""
    return isinstance(name, str) and _SECRET.search(name) is not None


def without_secrets(
    old: Mapping[str, Json], new: Mapping[str, Json]
) -> tuple[JsonObject, JsonObject]:
    """Both values, with their secrets hidden."""
    return (
        {name: _top(name, value, None) for name, value in old.items()},
        {name: _top(name, value, old.get(name)) for name, value in new.items()},
    )


def _top(name: str, value: Json, before: Json) -> Json:
    """The name is that of a setting, or of a topic and the like: those have objects as values."""
    return _value(value, before) if isinstance(value, dict) else _member(name, value, before)


def _object(value: JsonObject, before: JsonObject) -> JsonObject:
    return {key: _member(key, each, before.get(key)) for key, each in value.items()}


def _member(key: JsonKey, value: Json, before: Json) -> Json:
    if is_secret(key):
        if not value:
            return value
        return HIDDEN if before is None or before == value else CHANGED
    return _value(value, before)


def _value(value: Json, before: Json) -> Json:
    if isinstance(value, dict):
        return _object(value, before if isinstance(before, dict) else {})
    if isinstance(value, list):
        earlier = before if isinstance(before, list) and len(before) == len(value) else []
        pairs = zip(value, earlier or [None] * len(value), strict=True)
        return [_value(each, was) for each, was in pairs]
    return value
