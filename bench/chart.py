"""Draws a bar chart of two columns as SVG, without a library."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

from bench.report import short

WIDTH, LABELS, VALUES = 760, 220, 110
TOP, ROW, BAR = 64, 52, 18
OURS, THEIRS = "#4051b5", "#9aa0b4"


@dataclass(frozen=True, slots=True)
class Bar:
    """One pair of bars."""

    label: str
    ours: float
    theirs: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A title and pairs of bars that share one scale, which begins at zero."""

    title: str
    bars: tuple[Bar, ...]

    def svg(self) -> str:
        size = f'viewBox="0 0 {WIDTH} {TOP + ROW * len(self.bars) + 8}"'
        style = 'role="img" font-family="sans-serif" font-size="13"'
        pairs = (line for number, bar in enumerate(self.bars) for line in self._pair(number, bar))
        lines = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>',
            f"<title>{escape(self.title)}</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="12" y="24" font-size="15" font-weight="bold">{escape(self.title)}</text>',
            *_legend(),
            *pairs,
            "</svg>",
        )
        return "\n".join(lines) + "\n"

    def _pair(self, number: int, bar: Bar) -> tuple[str, ...]:
        top = TOP + ROW * number
        middle = top + BAR + 5
        label = f'<text x="{LABELS - 10}" y="{middle}" text-anchor="end">{escape(bar.label)}</text>'
        ours = self._bar(top, bar.ours, OURS)
        return (label, *ours, *self._bar(top + BAR + 1, bar.theirs, THEIRS))

    def _bar(self, top: int, value: float, color: str) -> tuple[str, str]:
        longest = max(max(bar.ours, bar.theirs) for bar in self.bars)
        width = round(value / longest * (WIDTH - LABELS - VALUES), 1)
        return (
            f'<rect x="{LABELS}" y="{top}" width="{width}" height="{BAR}" fill="{color}"/>',
            f'<text x="{LABELS + width + 6}" y="{top + 14}">{short(value)}</text>',
        )


def _legend() -> tuple[str, ...]:
    return (
        f'<rect x="{LABELS}" y="38" width="12" height="12" fill="{OURS}"/>',
        f'<text x="{LABELS + 18}" y="49">Gantry</text>',
        f'<rect x="{LABELS + 90}" y="38" width="12" height="12" fill="{THEIRS}"/>',
        f'<text x="{LABELS + 108}" y="49">Java RocketMQ 5.3.3</text>',
    )
