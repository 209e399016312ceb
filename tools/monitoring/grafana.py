"""Writes a dashboard as Grafana's JSON (schema 39: Grafana 10.4 and later)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tools.monitoring.panel import Dashboard, Kind, Panel, Query, Row, Steps, Variable
from tools.monitoring.promql import filled

Json = dict[str, Any]  # Any: values of JSON

TAG: Final = "gantry"
SCHEMA: Final = 39
GRID_WIDTH: Final = 24
NUMBER_HEIGHT: Final = 4
GRAPH_HEIGHT: Final = 7
SOURCE: Final[Json] = {"type": "prometheus", "uid": "${datasource}"}
_FAILOVERS: Final = 'increase(gantry_broker_role_changes_total{role="master"}[1m]) > 0'


def document(dashboard: Dashboard) -> str:
    """The JSON file of a dashboard."""
    return json.dumps(_model(dashboard), indent=1, ensure_ascii=False) + "\n"


def _model(dashboard: Dashboard) -> Json:
    return {
        "uid": f"{TAG}-{dashboard.name}",
        "title": dashboard.title,
        "description": dashboard.about,
        "tags": [TAG],
        "editable": True,
        "graphTooltip": 1,  # one crosshair for all panels
        "refresh": "30s",
        "schemaVersion": SCHEMA,
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [_failovers()]},
        "links": [_links()],
        "templating": {"list": [_source(), *map(_variable, dashboard.variables)]},
        "panels": list(_panels(dashboard.rows)),
    }


def _failovers() -> Json:
    return {
        "name": "Failovers",
        "datasource": SOURCE,
        "enable": True,
        "expr": _FAILOVERS,
        "iconColor": "orange",
        "titleFormat": "{{node_id}} has a new master",
    }


def _links() -> Json:
    return {
        "title": "Gantry",
        "type": "dashboards",
        "tags": [TAG],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
    }


def _source() -> Json:
    return {"name": "datasource", "label": "Source", "type": "datasource", "query": "prometheus"}


def _variable(variable: Variable) -> Json:
    query = f"label_values({variable.metric}, {variable.label})"
    return {
        "name": variable.name,
        "label": variable.title,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": variable.name},
        "refresh": 2,  # when the time range changes: topics and brokers come and go
        "sort": 1,
        "multi": True,
        "includeAll": True,
        # "All" is .* rather than a list of values: outside of Kubernetes series have no namespace.
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panels(rows: tuple[Row, ...]) -> Iterator[Json]:
    number = 0
    top = 0
    for row in rows:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": top, "w": GRID_WIDTH, "h": 1},
            "panels": [],
        }
        top += 1
        left = height = 0
        for panel in row.panels:
            if left + panel.width > GRID_WIDTH:
                left, top, height = 0, top + height, 0
            number += 1
            place = {"x": left, "y": top, "w": panel.width, "h": _height(panel)}
            yield {"id": number, "gridPos": place, **_panel(panel)}
            left, height = left + panel.width, max(height, _height(panel))
        top += height


def _height(panel: Panel) -> int:
    return NUMBER_HEIGHT if panel.kind is Kind.NUMBER else GRAPH_HEIGHT


def _panel(panel: Panel) -> Json:
    return {
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "targets": [_target(query, index, panel.kind) for index, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
    }


def _target(query: Query, index: int, kind: Kind) -> Json:
    target: Json = {
        "refId": chr(ord("A") + index),
        "datasource": SOURCE,
        "expr": filled(query.expression),
        "legendFormat": query.legend or "__auto",
    }
    if kind is not Kind.GRAPH:
        target |= {"instant": True, "range": False}
    if kind is Kind.TABLE:
        target["format"] = "table"
    return target


def _defaults(panel: Panel) -> Json:
    shown: Json = {"unit": panel.unit, "thresholds": _thresholds(panel.steps)}
    if panel.kind is Kind.GRAPH:
        shown["color"] = {"mode": "palette-classic"}
        shown["min"] = 0
        shown["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 20 if panel.is_stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.is_stacked else "none", "group": "A"},
        }
    return shown


def _thresholds(steps: Steps) -> Json:
    return {
        "mode": "absolute",
        "steps": [{"value": value, "color": colour.value} for value, colour in steps],
    }


def _options(panel: Panel) -> Json:
    if panel.kind is Kind.GRAPH:
        return {
            "legend": {"displayMode": "list", "placement": "bottom", "calcs": ["lastNotNull"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    if panel.kind is Kind.NUMBER:
        return {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "colorMode": "value",
            "graphMode": "none",
            "textMode": "value",
        }
    return {"showHeader": True, "sortBy": [{"displayName": "Value", "desc": True}]}
