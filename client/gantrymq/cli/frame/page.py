"""What a command shows: tables and texts for people, the same values as JSON for programs.

Invariant: each part has both forms. The text of a table is mqadmin's: its titles, widths and order,
so that what reads mqadmin's output reads this. JSON is one object, with a member for each part.
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
    """`form` lays out a row, with one conversion a column; titles as `title_form` does, or the
    same with all its conversions for text. JSON has `value` in place of the rows, if there is one.
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
    """Lines as they stand, and what they say; where there may be several of a name, JSON has a
    list of them, however many there are."""

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
    """Several parts, and what failed beside them; `is_well` is no when what was found is bad."""

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
                assert isinstance(before, list), f"{part.name} is one, and one of many"
                before.append(part.json())
            else:
                found[part.name] = part.json()
        return found

    def say(self, name: str, text: str, value: Json = True) -> None:
        """One of many lines that something was done."""
        self.parts.append(Text(name, [text], value, is_one_of_many=True))


def page(*parts: Part) -> Page:
    return Page(list(parts))


def pairs(name: str, values: Mapping[str, str], form: str = "%-50s=  %s") -> Text:
    """Settings or figures, by their names."""
    ordered = sorted(values.items())
    return Text(name, [form % each for each in ordered], members(dict(ordered)))


def members(values: Mapping[str, Json]) -> JsonObject:
    """The same as JSON has it."""
    made: JsonObject = {}
    made.update(values)
    return made


def _name(title: str) -> str:
    """`#Broker Name` -> `brokerName`; `#QID` -> `qid`."""
    words = re.findall(r"[A-Za-z0-9]+", title)
    start: str = words[0]
    first = start.lower() if start.isupper() else start[0].lower() + start[1:]
    return first + "".join(word[0].upper() + word[1:] for word in words[1:])
