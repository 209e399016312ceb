"""The queries of all dashboards as Grafana sends them, with every choice at "All"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from tools.monitoring.dashboards import DASHBOARDS
from tools.monitoring.promql import filled

# Grafana takes at least four scrapes.
RATE_INTERVAL: Final = "8s"
_VARIABLE: Final = re.compile(r"\$(?!__)\w+")
_LEGEND_LABEL: Final = re.compile(r"\{\{(\w+)\}\}")


@final
@dataclass(frozen=True, slots=True)
class PanelQuery:
    """A query, and the dashboard and panel that have it."""

    dashboard: str
    row: str
    panel: str
    expression: str
    legend_labels: frozenset[str]

    def __str__(self) -> str:
        return f"{self.dashboard} / {self.row} / {self.panel}: {self.expression}"


def all_queries() -> Iterator[PanelQuery]:
    """Every query of every dashboard."""
    for dashboard in DASHBOARDS:
        for row in dashboard.rows:
            for panel in row.panels:
                for query in panel.queries:
                    yield PanelQuery(
                        dashboard.name,
                        row.title,
                        panel.title,
                        chosen(query.expression),
                        frozenset(_LEGEND_LABEL.findall(query.legend)),
                    )


def chosen(expression: str) -> str:
    """The expression with every choice of the dashboard at "All"."""
    text = filled(expression).replace("$__rate_interval", RATE_INTERVAL)
    return _VARIABLE.sub(".*", text)
