"""Writes the kept figures into docs/benchmarks.md, between its two marks.

The tables there are never typed by hand: they show what the last full run measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from bench.report import RESULTS, Figure, Row

DOCUMENT = RESULTS.parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def write(parts: Mapping[str, tuple[str, str]]) -> None:
    """Put each part's tables in; a part is a kept result and the columns to compare."""
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    tables = "\n".join(
        "\n".join(_part(name, *columns)) + "\n"
        for name, columns in parts.items()
        if (RESULTS / f"{name}.json").exists()
    )
    DOCUMENT.write_text(f"{before}{BEGIN}\n{tables}\n{END}{after}")


def _part(name: str, ours: str, theirs: str) -> Iterator[str]:
    content = json.loads((RESULTS / f"{name}.json").read_text())
    yield f"### {name}\n"
    facts = content["machine"].items()
    yield "; ".join(f"{key.replace('_', ' ')}: {value}" for key, value in facts) + ".\n"
    if content["targets"]:
        yield "| target | wanted | measured | |\n|---|---|---|---|"
        for target in content["targets"]:
            words = (target[key] for key in ("what", "wanted", "measured", "verdict"))
            yield f"| {' | '.join(words)} |"
        yield ""
    rows = [
        Row(row["what"], row["unit"], {key: Figure(**seen) for key, seen in row["figures"].items()})
        for row in content["rows"]
    ]
    for table in _tables(rows):
        yield from _table(table, ours, theirs)


def _tables(rows: list[Row]) -> list[list[Row]]:
    """Runs of rows that share their columns."""
    tables: list[list[Row]] = []
    columns: set[str] = set()
    for row in rows:
        if not set(row.figures) <= columns:
            tables.append([])
            columns = set(row.figures)
        tables[-1].append(row)
    return tables


def _table(rows: list[Row], ours: str, theirs: str) -> Iterator[str]:
    columns = list(rows[0].figures)
    yield f"| | unit | {' | '.join(columns)} | {ours} / {theirs} |"
    yield "|---|---|" + "---|" * (len(columns) + 1)
    for row in rows:
        figures = (row.figures.get(column) for column in columns)
        cells = " | ".join(figure.text if figure else "" for figure in figures)
        ratio = row.ratio(ours, theirs)
        yield f"| {row.what} | {row.unit} | {cells} | {f'{ratio:.2f}x' if ratio else ''} |"
    yield ""
