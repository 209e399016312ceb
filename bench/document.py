"""Writes all kept figures into bench/results/README.md, one section for each part.

The whole file is generated: it shows what the last full run of each part measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from bench.report import RESULTS, Figure, Row

DOCUMENT = RESULTS / "README.md"
HEAD = """# All figures

`make bench` writes this file. Each section is one part; [the method](../README.md) says what each
part measures. A figure is the median of its rounds, with the lowest and the highest in brackets.
"""


def write(parts: Mapping[str, tuple[str, str]]) -> None:
    """Write the file; a part is a kept result and the two columns to compare."""
    DOCUMENT.write_text(text(parts))


def text(parts: Mapping[str, tuple[str, str]]) -> str:
    tables = (
        "\n".join(_part(name, *columns)).rstrip() + "\n"
        for name, columns in parts.items()
        if (RESULTS / f"{name}.json").exists()
    )
    return "\n".join((HEAD, *tables))


def _part(name: str, ours: str, theirs: str) -> Iterator[str]:
    content = json.loads((RESULTS / f"{name}.json").read_text())
    yield f"## {name}\n"
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
