"""The table of attacks in the docs is that of the recorded runs."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.attack.report import Row, load
from gantrymq.attack.table import ABSENT, PAGE, RESULTS, filled, table_lines

ROW = Row(
    subject="frames",
    what="many | of them",
    outcome="refused",
    faults=(),
    rss_before_mib=50,
    rss_growth_mib=1,
    probes="8/8",
    sent=20,
    errors=0,
    busy=0,
    lost=0,
    slowest_send_ms=2,
    slowest_answer_ms=3,
    seconds=1.0,
)


def test_page_is_current() -> None:
    page = PAGE.read_text()
    assert page == filled(page), "run: PYTHONPATH=tests python -m gantrymq.attack.table"


def test_no_recorded_attack_succeeds_today() -> None:
    assert [row.what for row in load(RESULTS / "after.json") if row.faults] == []


def test_row_tells_what_came_before_and_after() -> None:
    old = replace(ROW, faults=("AssertionError: it grew", "AssertionError: it grew"), errors=3)
    line = [*table_lines([old], [ROW])][2]
    assert line == (
        "| frames: many \\| of them | **succeeds**: it grew (+1 MiB, 8/8, 3 errors) | refused"
        " | 50 +1 MiB | 8/8 | 3 ms | 20 sent, 0 errors |"
    )


def test_attack_on_what_is_new_has_no_before() -> None:
    *rows, _, sum_line = table_lines([], [ROW])
    assert ABSENT in rows[-1]
    assert sum_line.startswith("1 attacks: 0 succeed. Of the 0")
