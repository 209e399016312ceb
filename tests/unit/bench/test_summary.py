"""The page of benchmarks and the file of all figures show the kept results."""

from __future__ import annotations

import re

import pytest

from bench import document, summary
from bench.chart import Bar, Chart
from bench.report import RESULTS

RERUN = 'run: python -c "from bench import summary; summary.write()"'


def test_summary_shows_the_kept_results() -> None:
    page = summary.PAGE.read_text()
    assert page == summary.filled(page), RERUN


@pytest.mark.parametrize("name", sorted(summary.CHARTS))
def test_chart_shows_the_kept_results(name: str) -> None:
    assert (summary.PICTURES / f"{name}.svg").read_text() == summary.charts()[name], RERUN
    assert f"pictures/{name}.svg" in summary.PAGE.read_text()


def test_each_kept_result_has_a_section_with_all_its_figures() -> None:
    text = document.DOCUMENT.read_text()
    parts = {path.stem: ("Gantry", "Java") for path in RESULTS.glob("*.json")}
    assert [part for part in parts if f"\n## {part}\n" not in text] == []
    made = document.text(parts).splitlines()
    assert len(made) == len(text.splitlines()), "run a full part of make bench"


def test_longest_bar_fills_the_chart_and_others_are_in_proportion() -> None:
    svg = Chart("t", (Bar("a", 50, 100), Bar("b & c", 25, 0))).svg()
    widths = map(float, re.findall(r'y="\d+" width="([\d.]+)" height="18"', svg))
    ours, theirs, quarter, none = widths
    assert (ours / theirs, quarter / theirs, none) == pytest.approx((0.5, 0.25, 0), abs=0.01)
    assert "b &amp; c" in svg
