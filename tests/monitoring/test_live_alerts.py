"""Each alert is seen to fire and to end with live processes, in one test."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.monitoring.alerts import GROUPS

HERE = Path(__file__).parent


def alerts_of(path: Path) -> Iterator[str]:
    """The alerts that the tests of a file name, once for each test."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            texts = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            yield from (text for text in texts if isinstance(text, str) and text in NAMES)


NAMES: Final = {alert.name for group in GROUPS for alert in group.alerts}


def test_each_alert_is_in_one_live_test() -> None:
    files = [path for path in HERE.glob("test_live_*.py") if path != Path(__file__)]
    seen = Counter(name for path in files for name in alerts_of(path))
    assert {name: count for name, count in seen.items() if count > 1} == {}
    assert seen.keys() == NAMES
