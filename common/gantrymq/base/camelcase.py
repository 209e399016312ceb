"""Converts Python names to Java's: `queue_id` is `queueId` in headers, JSON and settings files."""

from __future__ import annotations


def camel_case(name: str) -> str:
    """The camelCase form of a snake_case name."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)
