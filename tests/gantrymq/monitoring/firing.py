"""Waits for alerts at a Prometheus whose rules have shorter durations than the shipped ones.

All durations of rules are divided by 60: minutes become seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from gantrymq.monitoring.server import Prometheus
from tools.monitoring.alerts import GROUPS
from tools.monitoring.rules import rule_file

DIVISOR: Final = 60
FIRE_SECONDS: Final = 60.0
END_SECONDS: Final = 60.0


def quick_rules(others: Mapping[str, int] | None = None) -> str:
    """The rule file with all durations divided by DIVISOR, or by an alert's own number."""
    numbers = others or {}
    content = yaml.safe_load(rule_file(GROUPS, DIVISOR))
    special = {number: _rules(number) for number in numbers.values()}
    for group in content["groups"]:
        group["rules"] = [
            special[numbers[rule["alert"]]][rule["alert"]] if rule["alert"] in numbers else rule
            for rule in group["rules"]
        ]
    return yaml.safe_dump(content, sort_keys=False)


def _rules(divisor: int) -> dict[str, Any]:  # Any: values of YAML
    groups = yaml.safe_load(rule_file(GROUPS, divisor))["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def firing(alert: str, **labels: str) -> str:
    """A query that finds the alert when it fires with these labels."""
    chosen = {"alertname": alert, "alertstate": "firing", **labels}
    selector = ",".join(f'{name}="{value}"' for name, value in chosen.items())
    return f"ALERTS{{{selector}}}"


def assert_quiet(prometheus: Prometheus, *alerts: str) -> None:
    """Assert that none of the alerts fires before the test brings its cause about."""
    assert [name for name in alerts if prometheus.query(firing(name))] == []


def wait_until_firing(prometheus: Prometheus, *alerts: str, seconds: float = FIRE_SECONDS) -> None:
    for name in alerts:
        prometheus.wait_for(firing(name), seconds)


def wait_until_over(prometheus: Prometheus, *alerts: str, seconds: float = END_SECONDS) -> None:
    for name in alerts:
        prometheus.wait_until_gone(firing(name), seconds)
