"""promtool runs the rules: each alert fires with the series it is made for, and not without."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gantrymq.monitoring.programs import programs
from gantrymq.monitoring.rule_cases import ALSO, CASES, COUNT, SECONDS, Given
from tools.monitoring.__main__ import CHART, ROOT
from tools.monitoring.alert import Group
from tools.monitoring.alerts import GROUPS

RULES = ROOT / CHART / "alerts" / "gantry.yaml"
JUDGED = f"{(COUNT - 1) * SECONDS}s"


def promtool(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs().promtool, *words], capture_output=True, text=True, check=False
    )


def situation(name: str, alert: str, given: Given, *, fires: bool) -> Mapping[str, Any]:
    """One test in promtool's form. Any: values of YAML."""
    firing = f'count by (alertname) (ALERTS{{alertname="{alert}",alertstate="firing"}}) > 0'
    expected = [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if fires else []
    return {
        "name": name,
        "interval": f"{SECONDS}s",
        "input_series": [{"series": series, "values": values} for series, values in given.items()],
        "promql_expr_test": [{"expr": firing, "eval_time": JUDGED, "exp_samples": expected}],
    }


def situations(names: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """The tests of these alerts."""
    for alert in names:
        case = CASES[alert]
        yield situation(f"{alert} fires", alert, case.bad, fires=True)
        yield situation(f"{alert} is quiet", alert, case.good, fires=False)
    for number, (alert, given) in enumerate(ALSO):
        if alert in names:
            yield situation(f"{alert} fires, too ({number})", alert, given, fires=True)


def test_the_rules_are_well_formed() -> None:
    done = promtool("check", "rules", str(RULES))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_alerts_fire_when_they_should_and_only_then(group: Group, tmp_path: Path) -> None:
    """promtool runs the rules of one group of the shipped file at a time, which is quicker."""
    shipped = yaml.safe_load(RULES.read_text())["groups"]
    rules = [each for each in shipped if each["name"] == f"gantry-{group.name}"]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rules}))
    tests = tmp_path / "tests.yaml"
    content = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": f"{SECONDS}s",
        "tests": list(situations([alert.name for alert in group.alerts])),
    }
    tests.write_text(yaml.safe_dump(content, sort_keys=False))
    done = promtool("test", "rules", str(tests))
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_its_situations() -> None:
    assert CASES.keys() == {alert.name for group in GROUPS for alert in group.alerts}
