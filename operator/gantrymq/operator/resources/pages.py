"""Writes the documentation of the resources, their conditions and their events as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from gantrymq.operator.resources.definitions import DEFINITIONS, Column, Definition
from gantrymq.operator.resources.fields import Rule
from gantrymq.operator.resources.names import API_VERSION, CATEGORY
from gantrymq.operator.resources.reasons.conditions import CONDITIONS, EVENTS, EventRow, Kind, Row
from gantrymq.operator.resources.schema import (
    Member,
    default_words,
    element_type,
    is_dataclass,
    is_list,
    is_map,
    members,
)

MADE: Final = "<!-- Made by `python -m tools.resources`; edit operator/ instead. -->"
# An action that refers to the section of another condition.
_SAME: Final = re.compile(r"^As for (\w+) with the (?:same reason|reason (\w+))\.$")

# ------------------------------------------------------------------ fields


def resources_page() -> str:
    """Return the reference page of all fields of all resources."""
    lines = [
        "# Resources",
        MADE,
        "",
        f"The API group `{API_VERSION}` has two kinds; `kubectl get {CATEGORY}` lists both.",
        "`kubectl explain bc.spec` shows what this page says. The meaning of each condition is in",
        "[conditions](../operations/conditions.md); examples are in",
        "[examples/kubernetes](../../examples/kubernetes/).",
    ]
    for each in DEFINITIONS:
        lines.extend(_kind(each))
    return "\n".join(lines) + "\n"


def _kind(of: Definition) -> Iterator[str]:
    yield from ("", f"## {of.kind}", "", of.about, "")
    yield f"Short name: `{', '.join(of.short_names)}`. Plural: `{of.plural}`."
    yield from ("", f"### {of.kind}: spec", "", *_table(of.spec, "", with_bounds=True))
    yield from ("", f"### {of.kind}: rules", "")
    yield "The API server refuses a resource that breaks one of these rules."
    yield ""
    yield from (f"- `{path}`: {rule.message}" for path, rule in sorted_rules(of))
    yield from ("", f"### {of.kind}: status", "", *_table(of.status, "", with_bounds=False))
    yield from ("", f"### {of.kind}: columns of kubectl get", "", *_columns(of.columns))


def _table(kind: type[Any], prefix: str, *, with_bounds: bool) -> Iterator[str]:
    if with_bounds:
        yield from ("| field | allowed | default | meaning |", "|---|---|---|---|")
    else:
        yield from ("| field | meaning |", "|---|---|")
    for path, member in fields_of(kind, prefix):
        about = _cell(member.facts.about)
        if not with_bounds:
            yield f"| `{path}` | {about} |"
            continue
        if member.facts.example:
            about += f" Example: `{member.facts.example}`"
        yield f"| `{path}` | {_cell(allowed(member))} | {_default(member)} | {about} |"


def fields_of(kind: type[Any], prefix: str) -> Iterator[tuple[str, Member]]:
    """Yield all fields of an object and of the objects in it, with their paths."""
    for member in members(kind):
        path = f"{prefix}{member.key}"
        yield path, member
        yield from _inner_fields(member.hint, path)


def _inner_fields(hint: Any, path: str) -> Iterator[tuple[str, Member]]:
    if is_map(hint):
        hint, path = element_type(hint), f"{path}.<name>"
    elif is_list(hint):
        hint, path = element_type(hint), f"{path}[]"
    if is_dataclass(hint):
        yield from fields_of(hint, f"{path}.")


def allowed(member: Member) -> str:
    """Describe the allowed values of a field."""
    hint, facts = member.hint, member.facts
    if is_map(hint):
        return f"map of at most {facts.max_items}"
    if is_list(hint):
        return f"list of at most {facts.max_items}"
    if is_dataclass(hint):
        return "object"
    if hint is bool:
        return "true, false"
    if hint is int:
        return f"{facts.minimum} to {facts.maximum}"
    if hint is str:
        return "text" if facts.text is None else f"text of at most {facts.text.max_length}"
    return ", ".join(each.value for each in hint)


def _default(member: Member) -> str:
    if member.facts.is_required:
        return "required"
    if member.facts.default_words:
        return _cell(member.facts.default_words)
    words = default_words(member)
    return f"`{words}`" if words else ""


def sorted_rules(of: Definition) -> list[tuple[str, Rule]]:
    """Return all rules of a kind, with the fields that they are about."""
    found = [(rule.at, rule) for rule in of.spec.RESOURCE_RULES]
    found += [(f"spec.{rule.at}".strip("."), rule) for rule in of.spec.RULES]
    for path, member in fields_of(of.spec, "spec."):
        found += [(path, rule) for rule in member.facts.rules]
        if member.facts.text is not None:
            found += [(path, rule) for rule in member.facts.text.rules()]
        inner = element_type(member.hint) if is_map(member.hint) or is_list(member.hint) else None
        for hint in (member.hint, inner):
            rules = getattr(hint, "RULES", ()) if is_dataclass(hint) else ()
            found += [(f"{path}.{rule.at}".strip("."), rule) for rule in rules]
    return sorted(found, key=lambda each: each[0])


def _columns(columns: tuple[Column, ...]) -> Iterator[str]:
    yield from ("| column | meaning |", "|---|---|")
    for each in columns:
        wide = " Only with `-o wide`." if each.is_wide else ""
        yield f"| {each.name.upper()} | {each.about}{wide} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# ------------------------------------------------------------------ conditions


def conditions_page() -> str:
    """Return the page with a section for each reason of each condition, and for each event."""
    lines = [
        "# Conditions and events",
        MADE,
        "",
        "The operator explains the state of a resource in conditions: a type, a status, a reason",
        "in one word, and a message. This page has a section for each reason: what it means, and",
        "what to do.",
        "",
        "```",
        "kubectl describe bc orders",
        "kubectl wait bc orders --for=condition=Ready --timeout=5m",
        "```",
    ]
    for kind in Kind:
        lines.extend(_conditions(kind))
    return "\n".join(lines) + "\n"


def _conditions(kind: Kind) -> Iterator[str]:
    rows = [row for row in CONDITIONS.values() if row.kind is kind]
    yield from ("", f"## {kind}", "", "| condition | status | reason |", "|---|---|---|")
    for row in rows:
        yield f"| {row.type} | {row.status} | [{row.reason}](#{row.anchor}) |"
    for row in rows:
        yield from _section(row, f"{row.type} is {row.status}.")
    events = [event for event in EVENTS.values() if event.kind is kind]
    yield from ("", f"## Events of a {kind}")
    if not events:
        yield from ("", f"None: the status of a {kind} says what happened to it.")
    for event in events:
        yield from _section(event, f"An event of type {event.type}.")


def _section(row: Row | EventRow, first: str) -> Iterator[str]:
    yield from ("", f"### {row.heading}", "", f"{first} {row.meaning}")
    if row.action:
        yield from ("", f"What to do: {_with_link(row)}")


def _with_link(row: Row | EventRow) -> str:
    """Return the action; one that refers to another section links to it."""
    same = _SAME.match(row.action)
    if same is None or isinstance(row, EventRow):
        return row.action
    condition, reason = same[1], same[2] or row.reason
    anchor = f"{row.kind}-{condition}-{reason}".lower()
    return f"[As for {condition} with the reason {reason}](#{anchor})."
