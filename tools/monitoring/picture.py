"""Draws a dashboard as SVG from the results of its queries, for the documentation.

It shows rows, panels, thresholds and lines where Grafana would, in a plainer look. It takes values
and returns text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final
from xml.sax.saxutils import escape

from tools.monitoring.panel import Colour, Dashboard, Kind, Panel, Steps

COLUMN: Final = 42
GAP: Final = 4
ROW_TITLE: Final = 26
NUMBER_HEIGHT: Final = 66
GRAPH_HEIGHT: Final = 150
COLUMNS: Final = 24
LEGENDS_MAX: Final = 4
MORE_WIDTH: Final = 36  # for how many more there are
TITLE_CHARACTERS: Final = 6  # to a column, of a panel's title

_PALETTE: Final = ("#3274d9", "#e0752d", "#629e51", "#a352cc", "#bf1b00", "#0a9396", "#8f3bb8")
_COLOURS: Final[Mapping[Colour, str]] = {
    Colour.GOOD: "#37872d",
    Colour.WARNING: "#e0752d",
    Colour.BAD: "#c4162a",
    Colour.PLAIN: "#22252b",
}
_MULTIPLES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BYTES: Final = ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))
_TIMES: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"))
_RATES: Final = {"mps": "msg/s", "reqps": "req/s", "ops": "op/s", "rowsps": "rows/s"}

Point = tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class Line:
    """One series of a panel."""

    name: str
    points: Sequence[Point]


Answers = Mapping[tuple[str, str], Sequence[Line]]
"""The series of each panel, by the title of its row and its own title."""


@final
@dataclass(frozen=True, slots=True)
class Place:
    """The position and size of a panel in pixels."""

    x: int
    y: int
    width: int
    height: int


def drawn(dashboard: Dashboard, answers: Answers, begin: float, end: float) -> str:
    """The picture of the dashboard between these times."""
    shapes: list[str] = []
    top = GAP
    for row in dashboard.rows:
        shapes.append(_text(GAP, top + 18, row.title, size=14, weight="bold"))
        top += ROW_TITLE
        left = height = 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                left, top, height = 0, top + height, 0
            tall = NUMBER_HEIGHT if panel.kind is Kind.NUMBER else GRAPH_HEIGHT
            place = Place(left * COLUMN + GAP, top, panel.width * COLUMN - GAP, tall - GAP)
            shapes += _panel(panel, place, answers.get((row.title, panel.title), ()), begin, end)
            left, height = left + panel.width, max(height, tall)
        top += height
    width = COLUMNS * COLUMN + GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + GAP}"'
        f' viewBox="0 0 {width} {top + GAP}" font-family="Helvetica, Arial, sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#f4f5f5"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


def _panel(
    panel: Panel, place: Place, lines: Sequence[Line], begin: float, end: float
) -> Iterator[str]:
    yield (
        f'<rect x="{place.x}" y="{place.y}" width="{place.width}" height="{place.height}"'
        ' fill="#ffffff" stroke="#d8d9da"/>'
    )
    title = panel.title
    longest = panel.width * TITLE_CHARACTERS
    if len(title) > longest:
        title = title[: longest - 1] + "…"
    yield _text(place.x + 6, place.y + 15, title, size=11, colour="#52545c")
    if panel.kind is Kind.NUMBER:
        yield from _number(panel, place, lines)
    else:
        yield from _graph(panel, place, lines, begin, end)


def _number(panel: Panel, place: Place, lines: Sequence[Line]) -> Iterator[str]:
    last = lines[0].points[-1][1] if lines and lines[0].points else None
    shown = "no data" if last is None else with_unit(last, panel.unit)
    colour = _COLOURS[Colour.PLAIN if last is None else judged(last, panel.steps)]
    yield _text(place.x + 6, place.y + 46, shown, size=24, weight="bold", colour=colour)


def judged(value: float, steps: Steps) -> Colour:
    """The colour of a value: that of the last threshold that it has reached."""
    reached = [colour for limit, colour in steps if limit is None or value >= limit]
    return reached[-1] if reached else Colour.PLAIN


def _graph(
    panel: Panel, place: Place, lines: Sequence[Line], begin: float, end: float
) -> Iterator[str]:
    if not lines:
        yield _text(place.x + 6, place.y + 60, "no data", size=12, colour="#9fa1a6")
        return
    left, right = place.x + 58, place.x + place.width - 8
    upper, lower = place.y + 24, place.y + place.height - 30
    highest = max((value for line in lines for _, value in line.points), default=0.0) or 1.0
    for part in (0.0, 0.5, 1.0):
        y = lower - (lower - upper) * part
        yield f'<path d="M{left} {y:.1f}H{right}" stroke="#e3e4e5"/>'
        yield _text(
            left - 4, int(y) + 3, with_unit(highest * part, panel.unit), size=9, anchor="end"
        )
    for number, line in enumerate(lines):
        path = " ".join(
            f"{left + (right - left) * (at - begin) / (end - begin):.1f},"
            f"{lower - (lower - upper) * max(0.0, value) / highest:.1f}"
            for at, value in line.points
        )
        colour = _PALETTE[number % len(_PALETTE)]
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    yield from _legend(place, lines, lower + 18)


def _legend(place: Place, lines: Sequence[Line], y: int) -> Iterator[str]:
    shown = lines[:LEGENDS_MAX]
    width = (place.width - MORE_WIDTH) // len(shown)
    for number, line in enumerate(shown):
        x = place.x + 6 + number * width
        yield f'<rect x="{x}" y="{y - 7}" width="8" height="3" fill="{_PALETTE[number]}"/>'
        characters = max(3, (width - 14) // 5)
        name = line.name if len(line.name) <= characters else line.name[: characters - 1] + "…"
        yield _text(x + 11, y, name, size=9, colour="#52545c")
    if len(lines) > LEGENDS_MAX:
        more = f"+{len(lines) - LEGENDS_MAX}"
        yield _text(place.x + place.width - 6, y, more, size=9, colour="#52545c", anchor="end")


def _text(
    x: int,
    y: int,
    text: str,
    *,
    size: int,
    weight: str = "normal",
    colour: str = "#22252b",
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}"'
        f' text-anchor="{anchor}">{escape(text)}</text>'
    )


def with_unit(value: float, unit: str) -> str:
    """A number in a readable form; `unit` is Grafana's name of its unit."""
    if unit == "percentunit":
        return f"{f'{value * 100:.1f}'.removesuffix('.0')} %"
    if unit in {"bytes", "Bps"}:
        return _scaled(value, _BYTES, "B" if unit == "bytes" else "B/s", least="")
    if unit in {"s", "ms"}:
        return _time(value if unit == "s" else value / 1000)
    return _scaled(value, _MULTIPLES, _RATES.get(unit, ""), least="")


def _scaled(value: float, multiples: Sequence[tuple[float, str]], unit: str, *, least: str) -> str:
    for size, prefix in multiples:
        if abs(value) >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {least}{unit}".rstrip()


def _time(seconds: float) -> str:
    for size, unit in _TIMES:
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return "0 s"
