"""Aligns rows of text in columns."""

from __future__ import annotations

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return each row as a line. Columns are as wide as their widest cell, two spaces apart."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
