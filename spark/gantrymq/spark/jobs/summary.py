"""Formats the report of a job at its end: facts and tables, as text or as one JSON object.

Texts of messages may contain control characters. They are escaped, so that a message cannot control
the reader's terminal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Value: TypeAlias = str | int | float | None

WIDTH_MAX: Final = 60  # of a cell; longer texts are cut on the screen, and whole in JSON
SHOWN_MAX: Final = 50  # rows of a table on the screen


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a summary: rows under titles."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of one job."""

    job: str
    facts: Mapping[str, Value]
    tables: Sequence[Table] = ()
    exit_code: int = field(default=0)


def as_json(summary: Summary) -> str:
    """Return one object: facts by name, and each table as a list of objects."""
    value: dict[str, object] = {"job": summary.job, **summary.facts}
    for table in summary.tables:
        value[table.title.replace(" ", "_")] = [
            dict(zip(table.columns, row, strict=True)) for row in table.rows
        ]
    return json.dumps(value, ensure_ascii=False)


def as_text(summary: Summary) -> str:
    """Return the facts line by line, then the tables."""
    width = max((len(name) for name in summary.facts), default=0)
    lines = [f"{name:<{width}}  {_shown(fact)}" for name, fact in summary.facts.items()]
    for table in summary.tables:
        lines += ["", *_table_lines(table)]
    return "\n".join(lines)


def _table_lines(table: Table) -> list[str]:
    if not table.rows:
        return [f"{table.title}: none"]
    cells = [[_cut(_shown(value)) for value in row] for row in table.rows[:SHOWN_MAX]]
    widths = [
        max(len(name), *(len(row[index]) for row in cells))
        for index, name in enumerate(table.columns)
    ]
    is_number = [
        all(isinstance(row[index], int | float | None) for row in table.rows)
        for index in range(len(table.columns))
    ]

    def line(texts: Sequence[str]) -> str:
        aligned = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(texts, widths, is_number, strict=True)
        )
        return "  " + "  ".join(aligned).rstrip()

    lines = [f"{table.title}:", line(table.columns), *map(line, cells)]
    hidden = len(table.rows) - len(cells)
    if hidden:
        lines.append(f"  … and {hidden} more (--json shows all)")
    return lines


def _shown(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, int):
        return str(value)
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in value)


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH_MAX else text[: WIDTH_MAX - 1] + "…"
