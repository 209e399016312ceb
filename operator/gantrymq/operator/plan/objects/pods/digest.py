"""Computes short digests of JSON values, which are the same in every process and version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

_DIGITS: Final = 10


def digest(value: Any) -> str:  # Any: any JSON value
    """Return ten hexadecimal digits of the SHA-256 of the value's canonical text."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def digest_fields(values: Mapping[str, Any]) -> str:
    """Return the digest of each field with its name, so that changed fields can be named."""
    return ",".join(f"{key}={digest(values[key])}" for key in sorted(values))


def changed_fields(before: str, after: str) -> list[str]:
    """Return the names of the fields whose digests differ."""
    old, new = (
        dict(part.partition("=")[::2] for part in text.split(",")) for text in (before, after)
    )
    return sorted(key for key in old.keys() | new.keys() if key and old.get(key) != new.get(key))
