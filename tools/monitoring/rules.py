"""Writes alerts as rule files of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import yaml

from tools.monitoring.alert import Alert, Group

MADE: Final = "# Made by `python -m tools.monitoring`; edit tools/monitoring/alerts/ instead.\n"
RUNBOOKS: Final = "docs/operations/alerts"
_LINE: Final = 100


class _Text(str):
    """A text that YAML writes as a block, so that expressions stay readable."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    pass


def _block(dumper: yaml.SafeDumper, text: _Text) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=">")


_Dumper.add_representer(_Text, _block)


def rule_file(groups: Iterable[Group], divisor: int = 1) -> str:
    """The rule file. All durations are divided by `divisor`."""
    content = {
        "groups": [
            {
                "name": f"gantry-{group.name}",
                "rules": [_rule(group, alert, divisor) for alert in group.alerts],
            }
            for group in groups
        ]
    }
    text = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=_LINE, allow_unicode=True)
    return MADE + text


def runbook(group: Group, alert: Alert) -> str:
    """The address of the alert's runbook."""
    return f"{RUNBOOKS}/{group.name}.md#{alert.name.lower()}"


def _rule(group: Group, alert: Alert, divisor: int) -> dict[str, Any]:  # Any: values of YAML
    return {
        "alert": alert.name,
        "expr": _Text(alert.rule_expression(divisor)),
        "for": alert.rule_held(divisor),
        "labels": {"severity": alert.severity.value},
        "annotations": {
            "summary": alert.summary,
            "description": alert.means,
            "runbook_url": runbook(group, alert),
        },
    }
