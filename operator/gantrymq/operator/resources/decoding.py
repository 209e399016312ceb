"""Reads JSON into dataclasses of the model: fills defaults, finds problems, decodes.

The API server does the first two already, by the schema made from the same declarations. The
operator does them again, because the definition in a Kubernetes cluster may be older than the
operator.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar, cast

from gantrymq.operator.resources.fields import Facts, Quantity, Rule, Scalar
from gantrymq.operator.resources.problems import Problem
from gantrymq.operator.resources.schema import (
    Member,
    element_type,
    is_dataclass,
    is_list,
    is_map,
    members,
)

S = TypeVar("S")


# ------------------------------------------------------------------ defaults


def with_defaults(kind: type[Any], value: Any) -> Any:
    """Return the JSON of an object with the schema's defaults. Null counts as absent."""
    if not isinstance(value, dict):
        return value
    filled = {key: each for key, each in value.items() if each is not None}
    for member, default in _defaults(kind):
        if member.key not in filled and default is not None and default != []:
            filled[member.key] = copy.deepcopy(default)
        if member.key in filled:
            filled[member.key] = _filled(member.hint, filled[member.key])
    return filled


def _defaults(kind: type[Any]) -> tuple[tuple[Member, Any], ...]:
    """Return the fields of a dataclass with their defaults as JSON."""
    known = _DEFAULTS.get(kind)
    if known is None:
        known = tuple((each, each.schema_default) for each in members(kind))
        _DEFAULTS[kind] = known
    return known


# Cached by kind, because 10 000 topics need the same few.
_DEFAULTS: Final[dict[type[Any], tuple[tuple[Member, Any], ...]]] = {}


def _filled(hint: Any, value: Any) -> Any:
    if is_dataclass(hint):
        return with_defaults(hint, value)
    if is_map(hint) and isinstance(value, dict):
        return {key: _filled(element_type(hint), each) for key, each in value.items()}
    if is_list(hint) and isinstance(value, list):
        return [_filled(element_type(hint), each) for each in value]
    return value


# ------------------------------------------------------------------ problems


def find_problems(kind: type[Any], value: Any, path: str) -> Iterator[Problem]:
    """Yield the problems of an object with its defaults. Unknown keys are ignored."""
    if not isinstance(value, dict):
        yield Problem(path, f"must be an object, is {_shown(value)}")
        return
    inner: list[Problem] = []
    for member in members(kind):
        at = f"{path}.{member.key}"
        if member.key in value:
            inner.extend(_member_problems(member, value[member.key], at))
        elif member.facts.is_required:
            inner.append(Problem(at, "is required"))
    yield from inner
    if not inner:  # rules about the whole object rely on valid parts
        yield from broken_rules(getattr(kind, "RULES", ()), value, path)


def broken_rules(rules: tuple[Rule, ...], value: Any, path: str) -> Iterator[Problem]:
    """Yield a problem for each rule that the value breaks. Rules about a change are left out."""
    for rule in rules:
        if rule.holds is not None and not rule.holds(value):
            yield Problem(f"{path}.{rule.at}".strip("."), rule.message)


def _member_problems(member: Member, value: Any, path: str) -> Iterator[Problem]:
    hint, facts = member.hint, member.facts
    found = list(_value_problems(hint, facts, value, path))
    yield from found
    if not found:
        yield from broken_rules(facts.rules, value, path)


def _value_problems(hint: Any, facts: Facts, value: Any, path: str) -> Iterator[Problem]:
    if is_map(hint) or is_list(hint):
        yield from _collection_problems(hint, facts, value, path)
    elif is_dataclass(hint):
        yield from find_problems(hint, value, path)
    else:
        problem = _scalar_problem(hint, facts, value)
        if problem:
            yield Problem(path, problem)


def _collection_problems(hint: Any, facts: Facts, value: Any, path: str) -> Iterator[Problem]:
    expected, words = (dict, "a map") if is_map(hint) else (list, "a list")
    if not isinstance(value, expected):
        yield Problem(path, f"must be {words}, is {_shown(value)}")
        return
    if facts.max_items is not None and len(value) > facts.max_items:
        yield Problem(path, f"must have at most {facts.max_items} entries, has {len(value)}")
        return
    entries = (
        ((f"{path}[{key}]", each) for key, each in value.items())
        if isinstance(value, dict)
        else ((f"{path}[{index}]", each) for index, each in enumerate(value))
    )
    for at, each in entries:
        yield from _value_problems(element_type(hint), facts, each, at)


def _scalar_problem(hint: Any, facts: Facts, value: Any) -> str:
    if hint is bool:
        return "" if isinstance(value, bool) else f"must be true or false, is {_shown(value)}"
    if hint is int:
        return _number_problem(facts, value)
    if hint in (Quantity, Scalar) and isinstance(value, int) and not isinstance(value, bool):
        return ""
    if not isinstance(value, str):
        return f"must be text, is {_shown(value)}"
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        allowed = [each.value for each in hint]
        return "" if value in allowed else f"must be one of {', '.join(allowed)}, is {value!r}"
    return _text_problem(facts, value)


def _number_problem(facts: Facts, value: Any) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        return f"must be a whole number, is {_shown(value)}"
    if facts.minimum is not None and value < facts.minimum:
        return f"must be at least {facts.minimum}, is {value}"
    if facts.maximum is not None and value > facts.maximum:
        return f"must be at most {facts.maximum}, is {value}"
    return ""


def _text_problem(facts: Facts, value: str) -> str:
    if facts.text is None:
        return ""
    if len(value) > facts.text.max_length:
        return f"must have at most {facts.text.max_length} characters, has {len(value)}"
    return "; ".join(each.message for each in broken_rules(facts.text.rules(), value, ""))


def _shown(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}
    return names.get(type(value), "an object" if isinstance(value, dict) else "null")


# ------------------------------------------------------------------ decoding


def decode(kind: type[S], value: Mapping[str, Any]) -> S:
    """Return the dataclass of a JSON object without problems."""
    build = cast("Callable[..., S]", kind)
    return build(
        **{
            member.name: _decoded(member.hint, value[member.key])
            for member in members(kind)
            if member.key in value
        }
    )


def _decoded(hint: Any, value: Any) -> Any:
    if is_dataclass(hint):
        return decode(hint, value)
    if is_map(hint):
        return {key: _decoded(element_type(hint), each) for key, each in value.items()}
    if is_list(hint):
        return tuple(_decoded(element_type(hint), each) for each in value)
    if hint in (Quantity, Scalar):
        return str(value)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(value)
    return value
