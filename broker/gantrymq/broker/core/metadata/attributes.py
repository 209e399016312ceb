"""Parses and applies changes to the attributes of topics and groups: "+key=value,-key".

The attributes and their values are RocketMQ's, except those that need another kind of store. Batch
consume queues and compaction are refused, because the broker would silently store the messages as
usual. A change that is refused raises RemoteError with RocketMQ's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.wire.header_fields import parse_int64

MESSAGE_TYPE: Final = "message.type"
RESERVE_TIME: Final = "reserve.time"
MIXED: Final = "MIXED"

# Limit of the changes that one request is parsed for; there are far fewer attributes.
CHANGES_MAX: Final = 100


@final
@dataclass(frozen=True, slots=True)
class Attribute:
    """The definition of an attribute. `fault` returns what is wrong with a value, or None."""

    fault: Callable[[str], str | None]
    is_changeable: bool = True


def _one_of(*values: str, why: str = "") -> Callable[[str], str | None]:
    def fault(value: str) -> str | None:
        return None if value in values else f"value is not in set: [{', '.join(values)}]{why}"

    return fault


def _reserve_time_fault(value: str) -> str | None:
    try:
        is_fit = parse_int64(value) >= -1
    except ValueError as error:
        return f"the value {error}"
    return None if is_fit else "value is not in range(-1, 9223372036854775807)"


TOPIC_ATTRIBUTES: Final[Mapping[str, Attribute]] = {
    "queue.type": Attribute(
        _one_of("SimpleCQ", why="; this broker has no batch consume queues"), is_changeable=False
    ),
    "cleanup.policy": Attribute(
        _one_of("DELETE", why="; this broker does not compact topics"), is_changeable=False
    ),
    MESSAGE_TYPE: Attribute(
        _one_of("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", MIXED)
    ),
    RESERVE_TIME: Attribute(_reserve_time_fault),
}
GROUP_ATTRIBUTES: Final[Mapping[str, Attribute]] = {}


def to_create(current: Mapping[str, str]) -> dict[str, str]:
    """The changes that create these attributes on a RocketMQ broker, which has no
    reserve.time."""
    return {f"+{key}": value for key, value in current.items() if key != RESERVE_TIME}


def parse_changes(text: str) -> dict[str, str]:
    """The values by signed key; the value of a "-" key is empty."""
    parts = text.rstrip(",").split(",") if text else []
    if len(parts) > CHANGES_MAX:
        raise RemoteError(f"{len(parts)} attributes, at most {CHANGES_MAX} are changed at once")
    changes: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if equals and "+" not in key:
            raise RemoteError(f"add/alter attribute format is wrong: {key}")
        if not equals and "-" not in key:
            raise RemoteError(f"delete attribute format is wrong: {key}")
        if key in changes:
            raise RemoteError(f"key duplication: {key}")
        changes[key] = value
    return changes


def altered(
    known: Mapping[str, Attribute], current: Mapping[str, str] | None, changes: Mapping[str, str]
) -> dict[str, str]:
    """The attributes after these changes, which are by signed key. `current` is None for a new
    topic or group."""
    result = dict(current or {})
    named: set[str] = set()
    for signed_key, value in changes.items():
        sign, key = signed_key[:1], signed_key[1:]
        if not key or "+" in key or "-" in key:
            raise RemoteError(f"kv string format wrong: {signed_key!r}, write +key=value or -key")
        if key in named:
            raise RemoteError(f"alter duplication key. key: {key}")
        named.add(key)
        _check_sign(sign, key, current)
        _check_change(known, sign, key, value, is_new=current is None)
        if sign == "+":
            result[key] = value
        else:
            del result[key]
    return result


def _check_sign(sign: str, key: str, current: Mapping[str, str] | None) -> None:
    if current is None and sign != "+":
        raise RemoteError(f"only add attribute is supported while creating topic. key: {key}")
    if sign not in {"+", "-"}:
        raise RemoteError(f"wrong format key: {key}")
    if sign == "-" and key not in (current or {}):
        raise RemoteError(f"attempt to delete a nonexistent key: {key}")


def _check_change(
    known: Mapping[str, Attribute], sign: str, key: str, value: str, *, is_new: bool
) -> None:
    attribute = known.get(key)
    if attribute is None:
        there_are = f"; there are {', '.join(known)}" if known else ""
        raise RemoteError(f"unsupported key: {key}{there_are}")
    if not is_new and not attribute.is_changeable:
        raise RemoteError(f"attempt to update an unchangeable attribute. key: {key}")
    fault = attribute.fault(value) if sign == "+" else None
    if fault is not None:
        raise RemoteError(f"{fault}. key: {key}, value: {value}")
