"""Writes the runbooks: pages that say what to do when an alert fires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tools.monitoring.alert import Alert, Group

MADE: Final = (
    "<!-- Made by `python -m tools.monitoring`; edit tools/monitoring/alerts/ instead. -->\n"
)
_UNITS: Final = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def page(group: Group) -> str:
    """The page with the runbooks of one group of alerts."""
    lines = [f"# Alerts: {group.title}", MADE, group.about, ""]
    for alert in group.alerts:
        lines += [*_section(alert), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def index(groups: Iterable[Group]) -> str:
    """The page that lists all alerts."""
    lines = [
        "# Alerts",
        MADE,
        "Rules of the chart (`monitoring.alerts`) and of `charts/gantry/alerts/gantry.yaml` for a",
        "Prometheus elsewhere. *critical*: act at once; *warning*: act today; *info*: helps to",
        "explain other alerts. [Monitoring](../monitoring.md) says how to install them.",
        "",
        "| alert | severity | fires when |",
        "|---|---|---|",
    ]
    for group in groups:
        for alert in group.alerts:
            link = f"[{alert.name}]({group.name}.md#{alert.name.lower()})"
            lines.append(f"| {link} | {alert.severity.value} | {alert.means} |")
    return "\n".join(lines) + "\n"


def _section(alert: Alert) -> Iterator[str]:
    held = _words(alert.held_seconds)
    after = f"has held for {held}" if held else "holds"
    yield f"## {alert.name}"
    yield ""
    yield f"{alert.means} *{alert.severity.value}*"
    yield ""
    yield from _list("Causes", alert.causes)
    yield from _list("How to see it", alert.look)
    yield from _list("What to do", alert.act)
    yield f"The alert fires when this expression {after}:"
    yield ""
    yield f"    {alert.rule_expression()}"


def _list(title: str, items: Sequence[str]) -> Iterator[str]:
    yield f"**{title}**"
    yield ""
    yield from (f"- {item}" for item in items)
    yield ""


def _words(seconds: int) -> str:
    """A duration in words, such as 5 minutes; "" for 0 s."""
    for length, name in _UNITS:
        if seconds and seconds % length == 0:
            count = seconds // length
            return f"{count} {name}{'' if count == 1 else 's'}"
    return ""
