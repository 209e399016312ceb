"""Prints results as tables, and saves them as JSON for later comparison.

A figure is the median of its rounds, shown with the lowest and the highest: their distance is the
noise of the machine, and a ratio smaller than it means nothing.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value, from several rounds."""

    median: float
    min: float
    max: float
    rounds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        median = statistics.median(values)
        return cls(round(median, 4), round(min(values), 4), round(max(values), 4), len(values))

    @property
    def text(self) -> str:
        """The figure with its range, for tables."""
        if self.rounds == 1:
            return short(self.median)
        return f"{short(self.median)} ({short(self.min)}..{short(self.max)})"


def short(value: float) -> str:
    """The value with about three significant digits."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:.2f}M"
    if abs(value) >= 1e4:
        return f"{value / 1e3:.1f}k"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: the subject, and each implementation's figure."""

    what: str
    unit: str
    figures: dict[str, Figure]

    def ratio(self, ours: str, theirs: str) -> float | None:
        """The ratio of the medians of two columns."""
        if ours not in self.figures or theirs not in self.figures:
            return None
        divisor = self.figures[theirs].median
        return self.figures[ours].median / divisor if divisor else None


@dataclass(frozen=True, slots=True)
class Target:
    """A target, or a line reported beside it, with what was measured."""

    what: str
    wanted: str
    measured: str
    is_met: bool | None
    """None if the line has no target."""

    @property
    def verdict(self) -> str:
        if self.is_met is None:
            return ""
        return "pass" if self.is_met else "FAIL"


def print_rows(title: str, rows: Sequence[Row], ours: str, theirs: str) -> None:
    """Print figures with the ratio of two columns; the columns are those that occur."""
    columns = list(dict.fromkeys(name for row in rows for name in row.figures))
    compared = [f"{ours} / {theirs}"] if {ours, theirs} <= set(columns) else []
    lines = [["", "unit", *columns, *compared]]
    for row in rows:
        ratio = row.ratio(ours, theirs)
        cells = [_cell(row.figures.get(name)) for name in columns]
        ratios = ["" if ratio is None else f"{ratio:.2f}x"] if compared else []
        lines.append([row.what, row.unit, *cells, *ratios])
    print_table(title, lines)


def _cell(figure: Figure | None) -> str:
    return figure.text if figure else ""


def print_targets(title: str, targets: Sequence[Target]) -> None:
    """Print the targets and whether each was met, and the lines that are only reported."""
    lines = [["target", "wanted", "measured", ""]]
    lines += [[target.what, target.wanted, target.measured, target.verdict] for target in targets]
    print_table(title, lines)


def print_table(title: str, lines: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as their widest cell; the first line is the head."""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    print(f"\n{title}")
    for number, line in enumerate(lines):
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  " + "  ".join(padded).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))
    print(flush=True)


def keep(
    name: str, facts: dict[str, str], rows: Sequence[Row], targets: Sequence[Target] = ()
) -> None:
    """Write bench/results/<name>.json."""
    content = {
        "machine": facts,
        "rows": [asdict(row) for row in rows],
        "targets": [asdict(target) | {"verdict": target.verdict} for target in targets],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
