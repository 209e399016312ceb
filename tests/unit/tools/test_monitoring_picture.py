"""Tests pictures of dashboards: readable numbers, and well-formed SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tools.monitoring.dashboards import DASHBOARDS
from tools.monitoring.panel import NO_JUDGEMENT, Colour, Dashboard, Row, graph, limits, number
from tools.monitoring.picture import Line, drawn, judged, with_unit


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0.0, "short", "0"),
        (1234.0, "short", "1.23 k"),
        (0.756, "percentunit", "75.6 %"),
        (0.000_001, "percentunit", "0 %"),
        (3 << 20, "bytes", "3 MiB"),
        (512, "Bps", "512 B/s"),
        (2_592_000, "s", "30 d"),
        (90.0, "s", "1.5 min"),
        (250.0, "ms", "250 ms"),
        (0.0, "s", "0 s"),
        (12.5, "mps", "12.5 msg/s"),
    ],
)
def test_numbers_have_their_unit(value: float, unit: str, expected: str) -> None:
    assert with_unit(value, unit) == expected


def test_a_value_has_the_colour_of_the_last_step_that_it_has_reached() -> None:
    steps = limits(0.75, 0.85)
    assert [judged(value, steps) for value in (0.5, 0.75, 0.9)] == [
        *(Colour.GOOD, Colour.WARNING, Colour.BAD)
    ]
    assert judged(7, NO_JUDGEMENT) is Colour.PLAIN


def small() -> Dashboard:
    panels = (
        number("Full & fuller", "About.", "a", unit="percentunit", steps=limits(0.75, 0.85)),
        graph("Lines", "About.", ("b", "{{c}}"), width=20),
    )
    return Dashboard("d", "D", "About.", (), (Row("Row", panels),))


def test_panels_show_their_lines_and_numbers() -> None:
    answers = {
        ("Row", "Full & fuller"): [Line("", [(9.0, 0.9)])],
        ("Row", "Lines"): [Line(f"line {each}", [(0.0, 1.0), (9.0, each)]) for each in range(6)],
    }
    text = drawn(small(), answers, 0.0, 9.0)
    root = ElementTree.fromstring(text)  # noqa: S314 - our own
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:3] == ["Row", "Full & fuller", "90 %"]
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 6
    assert "+2" in texts


def test_a_panel_without_an_answer_says_so() -> None:
    assert drawn(small(), {}, 0.0, 9.0).count("no data") == 2


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda each: each.name)
def test_every_dashboard_can_be_drawn(dashboard: Dashboard) -> None:
    ElementTree.fromstring(drawn(dashboard, {}, 0.0, 9.0))  # noqa: S314 - our own
