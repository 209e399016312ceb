"""Makes the OpenAPI schema of a resource from its dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, final, get_args, get_origin, get_type_hints

from gantrymq.base.camelcase import camel_case
from gantrymq.base.errors import LocalError
from gantrymq.operator.resources.encoding import to_short_json
from gantrymq.operator.resources.fields import Facts, Quantity, Rule, Scalar, Text

Schema = dict[str, Any]  # JSON


@final
@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """One field of a dataclass, as it appears in JSON."""

    name: str
    key: str
    hint: Any
    facts: Facts
    default: Any
    """MISSING for a required field."""

    @property
    def schema_default(self) -> Any:
        """The default as JSON; None if the schema has none."""
        is_absent = self.default is dataclasses.MISSING or self.facts.default_words
        if is_absent or self.facts.is_reported:
            return None
        return to_short_json(self.default)


def members(kind: type[Any]) -> tuple[Member, ...]:
    """Return the fields of a dataclass that `described` or `reported` made."""
    known = _MEMBERS.get(kind)
    if known is None:
        known = _MEMBERS[kind] = _members(kind)
    return known


# Cached by kind, because reading annotations is slow and there may be 10 000 topics to decode.
_MEMBERS: Final[dict[type[Any], tuple[Member, ...]]] = {}


def _members(kind: type[Any]) -> tuple[Member, ...]:
    hints = get_type_hints(kind)
    return tuple(
        Member(
            each.name,
            camel_case(each.name),
            plain_type(hints[each.name]),
            each.metadata["facts"],
            _default(each),
        )
        for each in dataclasses.fields(kind)
    )


def _default(each: dataclasses.Field[Any]) -> Any:
    if each.default_factory is not dataclasses.MISSING:
        return each.default_factory()
    return each.default


def plain_type(hint: Any) -> Any:
    """Return the type without `| None`, because in JSON an absent value is an absent key."""
    if get_origin(hint) in (UnionType, Union):
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    return hint


@cache
def is_dataclass(hint: Any) -> bool:
    """Whether a type is one of the model's objects."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


@cache
def is_map(hint: Any) -> bool:
    """Whether a type is a map from text."""
    return get_origin(hint) is Mapping


@cache
def is_list(hint: Any) -> bool:
    """Whether a type is a list."""
    return get_origin(hint) is tuple


@cache
def element_type(hint: Any) -> Any:
    """Return the type of the values of a map or list."""
    return plain_type(get_args(hint)[1] if is_map(hint) else get_args(hint)[0])


def object_schema(kind: type[Any], about: str = "") -> Schema:
    """Return the schema of a dataclass."""
    schema: Schema = {"type": "object"}
    if about:
        schema["description"] = about
    properties = {each.key: member_schema(each) for each in members(kind)}
    if properties:
        schema["properties"] = properties
    required = [each.key for each in members(kind) if each.facts.is_required]
    if required:
        schema["required"] = required
    return _with_rules(schema, getattr(kind, "RULES", ()))


def member_schema(member: Member) -> Schema:
    """Return the schema of one field, with its description and default."""
    facts = member.facts
    schema: Schema = {"description": description(member)}
    schema.update(_value_schema(member.hint, facts))
    if member.schema_default is not None and member.schema_default != []:
        schema["default"] = member.schema_default
    texts = facts.text.rules() if facts.text is not None and member.hint is str else ()
    return _with_rules(schema, (*texts, *facts.rules))


def description(member: Member) -> str:
    """Return the text of `kubectl explain`: meaning, default and example of a field."""
    parts = [member.facts.about]
    default = default_words(member)
    if default:
        parts.append(f"Default: {default}.")
    if member.facts.example:
        parts.append(f"Example: {member.facts.example}")
    return " ".join(parts)


def default_words(member: Member) -> str:
    """Return the default in words; empty if there is none."""
    if member.facts.default_words:
        return member.facts.default_words
    value = member.schema_default
    if value is None or value in ({}, []):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return flow(value)


def flow(value: Any) -> str:
    """Return a JSON value as YAML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(each)}" for key, each in value.items()) + "}"
    return str(value)


def _value_schema(hint: Any, facts: Facts) -> Schema:
    if is_map(hint):
        schema: Schema = {"type": "object"}
        schema["additionalProperties"] = _element_schema(hint, facts)
        return schema | _bound("maxProperties", facts.max_items)
    if is_list(hint):
        schema = {"type": "array", "items": _element_schema(hint, facts)}
        if facts.map_key:
            schema["x-kubernetes-list-type"] = "map"
            schema["x-kubernetes-list-map-keys"] = [facts.map_key]
        return schema | _bound("maxItems", facts.max_items)
    if is_dataclass(hint):
        return object_schema(hint)
    return _scalar_schema(hint, facts)


def _element_schema(hint: Any, facts: Facts) -> Schema:
    element = element_type(hint)
    if is_dataclass(element):
        schema = object_schema(element)
        return schema | ({"required": [facts.map_key]} if facts.map_key else {})
    schema = _scalar_schema(element, facts)
    return _with_rules(schema, facts.text.rules()) if facts.text is not None else schema


def _scalar_schema(hint: Any, facts: Facts) -> Schema:
    if hint is bool:
        return {"type": "boolean"}
    if hint is int:
        bounds = _bound("minimum", facts.minimum) | _bound("maximum", facts.maximum)
        size = "int64" if facts.maximum is None else "int32"
        return {"type": "integer", "format": size} | bounds
    if hint in (Quantity, Scalar):
        either = [{"type": "integer"}, {"type": "string"}]
        return {"anyOf": either, "x-kubernetes-int-or-string": True} | _length(facts.text)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"type": "string", "enum": [each.value for each in hint]}
    if hint is str:
        return {"type": "string"} | _length(facts.text)
    raise LocalError(f"no schema for a field of type {hint}")


def _length(text: Text | None) -> Schema:
    return {} if text is None else _bound("maxLength", text.max_length)


def _bound(key: str, value: int | None) -> Schema:
    return {} if value is None else {key: value}


def _with_rules(schema: Schema, rules: tuple[Rule, ...]) -> Schema:
    if rules:
        earlier = schema.get("x-kubernetes-validations", ())
        schema["x-kubernetes-validations"] = [*earlier, *(rule_schema(each) for each in rules)]
    return schema


def rule_schema(rule: Rule) -> Schema:
    """Return a rule in the API server's format."""
    schema = {"rule": rule.cel, "message": rule.message}
    return schema | ({"fieldPath": f".{rule.at}"} if rule.at else {})
