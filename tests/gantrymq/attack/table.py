"""Writes the table of docs/design/attacks.md from two recorded runs.

python -m gantrymq.attack.table         writes the table (with PYTHONPATH=tests)

tests/attack/results/before.json        the servers before the first fixes
tests/attack/results/after.json         the current servers: ATTACK_RECORD=... make attack
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from gantrymq.attack.report import Row, load

ROOT: Final = Path(__file__).resolve().parents[3]
RESULTS: Final = ROOT / "tests" / "attack" / "results"
PAGE: Final = ROOT / "docs" / "design" / "attacks.md"
BEGIN: Final = "<!-- table: made by python -m gantrymq.attack.table -->\n"
END: Final = "<!-- end of table -->\n"
HEADINGS: Final = ("attack", "before", "after", "memory", "probes", "slowest", "clients")
EARLIER: Final = " ¹"
ABSENT: Final = "what is attacked was not there"


def filled(page: str) -> str:
    """The page with the table of the recorded runs."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    lines = table_lines(load(RESULTS / "before.json"), load(RESULTS / "after.json"))
    return head + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + tail


def table_lines(before: Sequence[Row], after: Sequence[Row]) -> Iterator[str]:
    """One line an attack, as Markdown; then the number of successful attacks."""
    earlier = {row.what: row for row in before}
    yield _line(HEADINGS)
    yield "|---" * len(HEADINGS) + "|"
    for row in after:
        what, now, *figures = row.cells()
        yield _line((what, _before(earlier.get(row.what), row), now, *figures))
    compared = [earlier[row.what] for row in after if row.what in earlier]
    yield ""
    yield (
        f"{len(after)} attacks: {_succeeded(after)} succeed. Of the {len(compared)} that could be"
        f" made before, {_succeeded(compared)} succeeded."
    )


def _before(old: Row | None, new: Row) -> str:
    if old is None:
        return ABSENT
    came = "the same" if old.verdict == new.verdict else old.verdict
    mark = EARLIER if old.state else ""
    return f"{came} (+{old.rss_growth_mib} MiB, {old.probes}, {old.errors} errors){mark}"


def _succeeded(rows: Sequence[Row]) -> int:
    return sum(1 for row in rows if row.faults)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
