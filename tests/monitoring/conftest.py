"""MONITORING=0 leaves these tests out; they need Prometheus, from the PATH or from Debian.

Those that are marked long_monitoring run with MONITORING_LONG=1 only.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gantrymq.left_out import leave_out

HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    if os.environ.get("MONITORING") == "0":
        leave_out(config, items, ours, "MONITORING=0: {} tests with a real Prometheus left out")
    elif os.environ.get("MONITORING_LONG") != "1":
        long = [item for item in ours if item.get_closest_marker("long_monitoring")]
        leave_out(config, items, long, "{} tests with Spark left out; MONITORING_LONG=1 runs them")
