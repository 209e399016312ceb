"""Reads fields of Kubernetes objects that may lack any of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gantrymq.operator.plan.actions import Json, ObjectRef


# Any: objects of the API are JSON, and each caller knows the type of its field.
def value_at(content: Any, *path: str) -> Any:
    """Return the value at a path of keys; None if a key is missing."""
    for key in path:
        if not isinstance(content, dict):
            return None
        content = content.get(key)
    return content


def text_at(content: Any, *path: str) -> str:
    """Return the text at a path; empty if it is missing or not a text."""
    value = value_at(content, *path)
    return value if isinstance(value, str) else ""


def map_at(content: Any, *path: str) -> Mapping[str, Any]:
    """Return the object at a path; empty if it is missing."""
    value = value_at(content, *path)
    return value if isinstance(value, dict) else {}


def list_at(content: Any, *path: str) -> list[Any]:
    """Return the list at a path; empty if it is missing."""
    value = value_at(content, *path)
    return value if isinstance(value, list) else []


def name_of(content: Json) -> str:
    return text_at(content, "metadata", "name")


def uid_of(content: Json) -> str:
    return text_at(content, "metadata", "uid")


def version_of(content: Json) -> str:
    return text_at(content, "metadata", "resourceVersion")


def label_of(content: Mapping[str, Any], label: str) -> str:
    return text_at(content, "metadata", "labels", label)


def annotation_of(content: Mapping[str, Any], annotation: str) -> str:
    return text_at(content, "metadata", "annotations", annotation)


def is_terminating(content: Json) -> bool:
    """Whether the object is being deleted."""
    return bool(text_at(content, "metadata", "deletionTimestamp"))


def condition_of(content: Json, kind: str) -> Mapping[str, Any]:
    """Return the condition of this type in the object's status; empty if there is none."""
    for condition in list_at(content, "status", "conditions"):
        if text_at(condition, "type") == kind:
            return map_at(condition)
    return {}


def seconds_at(content: Any, *path: str) -> float | None:
    """Return the time at a path in Unix seconds; None if there is no valid one."""
    text = text_at(content, *path)
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None


def ref_of(content: Json, api_version: str, kind: str) -> ObjectRef:
    """Return a reference to an observed object. Items of a list lack apiVersion and kind."""
    return ObjectRef(api_version, kind, text_at(content, "metadata", "namespace"), name_of(content))
