"""Defines the Python types of RocketMQ's JSON, and readers of bean properties.

A JSON object is a dict whose keys are of three kinds, because fastjson's maps have three kinds:

    "text"                  str        every standard object
    0                       int        Map<Integer,V> and Map<Long,V>, written unquoted
    {"brokerName": ...}     ObjectKey  Map<MessageQueue,V>

The kinds survive a round trip. A reader of a number-keyed map must accept both 0 and "0", since
the standard form quotes the number: `int_key` does.

Invariant of the readers below: unknown properties are ignored, a null or absent property gets its
default, numbers and booleans may be strings, and anything else raises RemoteError with the name of
the property, as fastjson refuses the body. No reader walks a container, or shows one in an error: a
value with references can be arbitrarily large when written in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from gantrymq.base.bounds import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from gantrymq.base.errors import RemoteError

# What fastjson treats as missing where a number or a boolean is expected.
_NOTHING: Final = (None, "", "null")

# The most characters of a value that an error shows.
_SHOWN_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """A JSON object used as a key; its members keep their order."""

    members: tuple[tuple[str, str | int | float | bool | None], ...]

    def as_object(self) -> JsonObject:
        return dict(self.members)


JsonKey: TypeAlias = str | int | ObjectKey
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[JsonKey, Json] | None"
JsonObject: TypeAlias = dict[JsonKey, Json]


def object_of(value: Json, what: str) -> JsonObject:
    """The value as an object; `what` names it in the error."""
    if isinstance(value, dict):
        return value
    raise _unusable(what, value, "an object")


def list_of(value: Json, what: str) -> list[Json]:
    """The value as an array, empty for null."""
    if isinstance(value, list):
        return value
    if value is None:
        return []
    raise _unusable(what, value, "an array")


def int_key(key: JsonKey, what: str) -> int:
    """A key of a number-keyed map, in either of its two forms."""
    if type(key) is int:
        return key
    if isinstance(key, str):
        return _integer(key, what, LONG_MIN, LONG_MAX)
    raise RemoteError(f"{what}: a key is an object where a number belongs")


def text_key(key: JsonKey, what: str) -> str:
    """A key of a text-keyed map; a number is converted to text."""
    if isinstance(key, str):
        return key
    if isinstance(key, int):
        return str(key)
    raise RemoteError(f"{what}: a key is an object where text belongs")


def long_of(value: Json, what: str) -> int:
    """A value that is a long; `what` names it in the error."""
    return _integer(value, what, LONG_MIN, LONG_MAX)


def text_of(value: Json, what: str) -> str:
    """A value that is text; a number is converted to text."""
    text = _text(value, what)
    if text is None:
        raise _unusable(what, value, "text")
    return text


def text_field(bean: JsonObject, name: str) -> str | None:
    """A String property; a number or boolean is converted to text."""
    return _text(bean.get(name), name)


def required_text_field(bean: JsonObject, name: str) -> str:
    """A required String property; RemoteError if it is missing."""
    value = text_field(bean, name)
    if value is None:
        raise RemoteError(f"{name} is missing")
    return value


def int_field(bean: JsonObject, name: str, default: int = 0) -> int:
    """An int property (32 bits)."""
    value = bean.get(name)
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return value
    return default if value in _NOTHING else _integer(value, name, INT_MIN, INT_MAX)


def long_field(bean: JsonObject, name: str, default: int = 0) -> int:
    """A long property (64 bits)."""
    value = bean.get(name)
    if type(value) is int and LONG_MIN <= value <= LONG_MAX:
        return value
    return default if value in _NOTHING else _integer(value, name, LONG_MIN, LONG_MAX)


def bool_field(bean: JsonObject, name: str, *, default: bool = False) -> bool:
    """A boolean property; 1 and 0, and their texts, are accepted as in fastjson."""
    value = bean.get(name)
    if type(value) is bool:
        return value
    if value in _NOTHING:
        return default
    if isinstance(value, str):
        value = value.lower()
    if value in ("true", "1", 1):
        return True
    if value in ("false", "0", 0):
        return False
    raise _unusable(name, value, "true or false")


def float_field(bean: JsonObject, name: str, default: float = 0.0) -> float:
    """A double property."""
    value = bean.get(name)
    if value in _NOTHING:
        return default
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise _unusable(name, value, "a number")


def text_map_field(bean: JsonObject, name: str) -> dict[str, str]:
    """A Map<String,String> property; empty if absent, null members are dropped."""
    value = bean.get(name)
    if not value and (value is None or isinstance(value, dict)):
        return {}
    members = object_of(value, name)
    result: dict[str, str] = {}
    for key, member in members.items():
        text = _text(member, name)
        if text is not None:
            result[text_key(key, name)] = text
    return result


def _text(value: Json, name: str) -> str | None:
    if value is None or type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise _unusable(name, value, "text")


def _integer(value: Json, name: str, lowest: int, highest: int) -> int:
    if isinstance(value, str):
        digits = value.removeprefix("-").removeprefix("+")
        # int() would also accept blanks, underscores and digits of other scripts; Java does not.
        if digits.isascii() and digits.isdigit() and len(digits) <= 19:
            value = int(value)
    elif isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is int and lowest <= value <= highest:
        return value
    raise _unusable(name, value, f"a whole number from {lowest} to {highest}")


def _unusable(name: str, value: Json, allowed: str) -> RemoteError:
    return RemoteError(f"{name} is {_shown(value)} where {allowed} belongs")


def _shown(value: Json) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, str):
        return repr(value[:_SHOWN_MAX]) + ("..." if len(value) > _SHOWN_MAX else "")
    return repr(value)[:_SHOWN_MAX]
