"""Draws the dashboards of a live cluster for the documentation.

    PYTHONPATH=tests python -m gantrymq.monitoring.pictures docs/operations/pictures

It runs the cluster and the traffic of the tests for two minutes, with consumers that fail for a
part of them, asks Prometheus the dashboards' own queries, and draws what it answers.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from gantrymq.monitoring import cluster
from gantrymq.monitoring.queries import chosen
from gantrymq.monitoring.server import Prometheus
from tools.monitoring.alerts import GROUPS
from tools.monitoring.dashboards import DASHBOARDS
from tools.monitoring.panel import Dashboard, Kind, Panel
from tools.monitoring.picture import Line, drawn
from tools.monitoring.rules import rule_file

SHOWN: Final = ("overview", "group", "replication")
WELL_SECONDS: Final = 60.0
FAILING_SECONDS: Final = 45.0
STEP_SECONDS: Final = 2.0
DIVISOR: Final = 30
INTERVAL_SECONDS: Final = 2  # a busy machine answers scrapes within that
_LABEL: Final = re.compile(r"\{\{(\w+)\}\}")


def lines_of(prometheus: Prometheus, panel: Panel, begin: float, end: float) -> Iterator[Line]:
    """The series of a panel. A panel that shows one number needs only the last value."""
    for query in panel.queries:
        expression = chosen(query.expression)
        if panel.kind is Kind.NUMBER:
            for series in prometheus.query(expression):
                yield Line("", [(end, series.value)])
            continue
        for labels, points in prometheus.query_range(expression, begin, end, STEP_SECONDS):
            yield Line(legend(query.legend, labels), points)


def legend(text: str, labels: Mapping[str, str]) -> str:
    """The legend with the labels of a series."""
    return _LABEL.sub(lambda found: labels.get(found.group(1), ""), text)


def picture(prometheus: Prometheus, dashboard: Dashboard, begin: float, end: float) -> str:
    answers = {
        (row.title, panel.title): list(lines_of(prometheus, panel, begin, end))
        for row in dashboard.rows
        for panel in row.panels
    }
    return drawn(dashboard, answers, begin, end)


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:

        def folder(name: str) -> Path:
            made = Path(scratch) / name
            made.mkdir()
            return made

        with cluster.running(folder) as running, running.traffic("steady"):
            running.run("offline", WELL_SECONDS)
            targets = {"watched": [running.targets[each] for each in ("names", "master", "slave")]}
            rules = rule_file(GROUPS, DIVISOR)
            with Prometheus(
                folder("prometheus"), targets, rules, interval_seconds=INTERVAL_SECONDS
            ) as watching:
                begin = time.time()
                time.sleep(WELL_SECONDS)
                with running.traffic("failing"):
                    time.sleep(FAILING_SECONDS)
                    end = time.time()
                    for dashboard in DASHBOARDS:
                        if dashboard.name in SHOWN:
                            text = picture(watching, dashboard, begin, end)
                            (target / f"{dashboard.name}.svg").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
