"""Tests that dashboards and alerts are up to date, and agree with the table of metrics."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gantrymq.metrics.catalogue import families
from gantrymq.metrics.family import Kind
from tools.monitoring.__main__ import CHART, ROOT, outdated
from tools.monitoring.alert import Alert, Severity
from tools.monitoring.alerts import GROUPS
from tools.monitoring.dashboards import DASHBOARDS
from tools.monitoring.promql import duration, family_name, grown, metric_names, scaled

TABLE = {family.name: family for table, family in families() if table.path == "/metrics"}
HISTOGRAMS = {name for name, family in TABLE.items() if family.kind is Kind.HISTOGRAM}
# Series that Prometheus makes by itself, and metrics that its client library has of each process.
STANDARD = {"up", "ALERTS", "process_cpu_seconds_total", "process_resident_memory_bytes"}

FILES = sorted((ROOT / CHART / "dashboards").glob("*.json"))
ALERTS = [alert for group in GROUPS for alert in group.alerts]


def used(expression: str) -> set[str]:
    """The names of the metrics in an expression."""
    return {family_name(series, HISTOGRAMS) for series in metric_names(expression)}


def panels() -> dict[str, set[str]]:
    """The names of the metrics that each panel shows, by "row: title"."""
    shown: dict[str, set[str]] = {}
    for dashboard in DASHBOARDS:
        for row in dashboard.rows:
            for panel in row.panels:
                names = shown.setdefault(f"{row.title}: {panel.title}", set())
                names.update(*(used(query.expression) for query in panel.queries))
    return shown


def test_the_files_are_current() -> None:
    assert outdated() == [], "run: python -m tools.monitoring"


def test_expressions_name_only_metrics_of_the_table() -> None:
    of_panels = set().union(*panels().values())
    of_alerts = {name for alert in ALERTS for name in used(alert.expression)}
    assert (of_panels | of_alerts) - TABLE.keys() - STANDARD == set()
    assert len(of_panels & TABLE.keys()) > 80


def test_a_panel_that_the_table_names_shows_the_metric() -> None:
    shown = panels()
    missing = {
        family.name: family.panel
        for family in TABLE.values()
        if family.panel and family.name not in shown.get(family.panel, set())
    }
    assert missing == {}


def test_an_alert_that_the_table_names_uses_the_metric() -> None:
    by_name = {alert.name: used(alert.expression) for alert in ALERTS}
    missing = {
        family.name: family.alert
        for family in TABLE.values()
        if family.alert and family.name not in by_name.get(family.alert, set())
    }
    assert missing == {}


# ---------------------------------------------------------------- Grafana's JSON


def parsed(path: Path) -> dict[str, Any]:  # Any: values of JSON
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_dashboards_have_names_of_their_own() -> None:
    texts = [parsed(path) for path in FILES]
    assert len({text["uid"] for text in texts}) == len(FILES) == len(DASHBOARDS)
    assert len({text["title"] for text in texts}) == len(FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_panels_have_their_own_ids_and_places(path: Path) -> None:
    placed = parsed(path)["panels"]
    ids = [panel["id"] for panel in placed]
    assert len(set(ids)) == len(ids)
    cells = Counter(
        (column, line)
        for panel in placed
        for column in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for line in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    )
    assert [cell for cell, count in cells.items() if count > 1] == []
    assert max(column for column, _ in cells) < 24


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_panel_asks_the_source_that_is_chosen_and_says_what_it_shows(path: Path) -> None:
    for panel in parsed(path)["panels"]:
        if panel["type"] == "row":
            continue
        assert panel["description"].endswith("."), panel["title"]
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_expressions_use_only_variables_of_the_dashboard(path: Path) -> None:
    content = parsed(path)
    variables = {each["name"] for each in content["templating"]["list"]}
    texts = [target["expr"] for panel in content["panels"] for target in panel.get("targets", [])]
    texts += [str(each["query"]) for each in content["templating"]["list"]]
    asked = {name for text in texts for name in re.findall(r"\$(\w+)", text)}
    assert asked - {"__rate_interval"} - variables == set()
    assert "datasource" in variables
    assert not [text for text in texts if "<" in re.sub(r" <=? | < ", "", text)], "a placeholder"


def test_the_overview_asks_four_questions_first() -> None:
    titles = [row.title for row in DASHBOARDS[0].rows]
    assert [title for title in titles[:5] if title.endswith("?")] == titles[:4]


# ---------------------------------------------------------------- alerts


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_says_what_to_do(alert: Alert) -> None:
    assert re.fullmatch(r"Gantry[A-Z]\w+", alert.name)
    for part in (alert.causes, alert.look, alert.act):
        assert part
        assert all(text.endswith((".", "?", "`")) for text in part), part
    assert "<seconds>" not in alert.rule_expression()
    assert ("<seconds>" in alert.expression) == bool(alert.seconds)
    if alert.severity is Severity.CRITICAL:
        assert alert.held_seconds <= 60, "critical alerts do not wait"


def test_alerts_have_names_of_their_own() -> None:
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)


# ---------------------------------------------------------------- the text of expressions


def test_metrics_are_told_from_labels_and_functions() -> None:
    assert metric_names(
        'sum by (gantry_label) (rate(gantry_a_total{gantry_b="up"}[5m])) > 0'
        " unless on (job) up == 0 and process_cpu_seconds_total"
    ) == {"gantry_a_total", "up", "process_cpu_seconds_total"}


def test_ranges_and_offsets_are_scaled_and_labels_are_not() -> None:
    text = 'increase(a{b="5m"}[10m]) > 300 or a offset 1h'
    assert scaled(text, 1) == text
    assert scaled(text, 20) == 'increase(a{b="5m"}[30s]) > 300 or a offset 3m'
    assert scaled("rate(a[5s])", 20) == "rate(a[1s])"


def test_durations_have_the_largest_unit_that_fits() -> None:
    assert [duration(each) for each in (0, 1, 60, 90, 7200, 604_800)] == [
        *("0s", "1s", "1m", "90s", "2h", "7d")
    ]


def test_a_counter_that_is_new_has_grown() -> None:
    assert "unless a offset 5m" in grown("a", "5m", "job")


def test_an_alert_is_scaled_with_its_limit() -> None:
    alert = Alert(
        "GantryX", Severity.INFO, "a[5m] > <seconds>", 90, "", "", (), (), (), seconds=300
    )
    assert (alert.rule_expression(), alert.rule_held()) == ("a[5m] > 300", "90s")
    assert (alert.rule_expression(20), alert.rule_held(20)) == ("a[15s] > 15", "5s")
