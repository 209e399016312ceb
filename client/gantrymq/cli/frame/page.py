"""Defines the output of a command: tables and texts for people, JSON of the same values.

Invariant: each part has both forms. A table has mqadmin's titles, widths and order, so that
programs which parse mqadmin's output can parse it. The JSON is one object with a member for each
part.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gantrymq.wire.jsonvalue import Json, JsonObject

Cell: TypeAlias = str | int | float


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below titles.

    `form` formats a row, with one % conversion a column. `title_form` formats the titles; its
    default is `form` with %s conversions. `value`, if given, takes the place of the rows in JSON.
    """

    name: str
    titles: Sequence[str]
    form: str
    rows: Sequence[Sequence[Cell]]
    title_form: str = ""
    value: Json = None

    def lines(self) -> list[str]:
        title_form = self.title_form or re.sub(r"(%-?\d*)(\.\d+)?[df]", r"\1s", self.form)
        rows = (self.form % tuple(row) for row in self.rows)
        return [title_form % tuple(self.titles), *rows]

    def json(self) -> Json:
        if self.value is not None:
            return self.value
        names = [_name(title) for title in self.titles]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of text, and their value in JSON. Parts of one name that may occur more than once set
    `is_one_of_many`; JSON then has a list, even of one."""

    name: str
    shown: Sequence[str]
    value: Json
    is_one_of_many: bool = False

    def lines(self) -> list[str]:
        return list(self.shown)

    def json(self) -> Json:
        return self.value


Part: TypeAlias = Table | Text


@dataclass(slots=True)
class Page:
    """The output of one command: its parts, and the failures of single servers. `is_well` is False
    if the findings of the command are bad, which makes the exit code 1."""

    parts: list[Part] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    is_well: bool = True

    def text(self) -> str:
        lines = [line for part in self.parts for line in part.lines()]
        return "".join(f"{line}\n" for line in lines)

    def json(self) -> JsonObject:
        found: JsonObject = {}
        for part in self.parts:
            if isinstance(part, Text) and part.is_one_of_many:
                before = found.setdefault(part.name, [])
                assert isinstance(before, list), f"{part.name} names one part and a list of parts"
                before.append(part.json())
            else:
                found[part.name] = part.json()
        return found

    def say(self, name: str, text: str, value: Json = True) -> None:
        """Add a line that reports something done."""
        self.parts.append(Text(name, [text], value, is_one_of_many=True))


def page(*parts: Part) -> Page:
    return Page(list(parts))


def pairs(name: str, values: Mapping[str, str], form: str = "%-50s=  %s") -> Text:
    """Make a text of settings or figures, sorted by name."""
    ordered = sorted(values.items())
    return Text(name, [form % each for each in ordered], members(dict(ordered)))


def members(values: Mapping[str, Json]) -> JsonObject:
    """Return the values as a JSON object."""
    made: JsonObject = {}
    made.update(values)
    return made


def _name(title: str) -> str:
    """Return the JSON name of a title: `#Broker Name` -> `brokerName`; `#QID` -> `qid`."""
    words = re.findall(r"[A-Za-z0-9]+", title)
    start: str = words[0]
    first = start.lower() if start.isupper() else start[0].lower() + start[1:]
    return first + "".join(word[0].upper() + word[1:] for word in words[1:])
