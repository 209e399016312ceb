"""MONITORING=0 leaves these tests out; they need Prometheus, from the PATH or from Debian.

Those that are marked long_monitoring run with MONITORING_LONG=1 only.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LEFT_OUT = pytest.StashKey[int]()
LONG = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    if os.environ.get("MONITORING") == "0":
        _leave_out(config, items, ours, LEFT_OUT)
    elif os.environ.get("MONITORING_LONG") != "1":
        long = [item for item in ours if item.get_closest_marker("long_monitoring")]
        _leave_out(config, items, long, LONG)


def _leave_out(
    config: pytest.Config,
    items: list[pytest.Item],
    unwanted: list[pytest.Item],
    key: pytest.StashKey[int],
) -> None:
    config.hook.pytest_deselected(items=unwanted)
    config.stash[key] = len(unwanted)
    items[:] = [item for item in items if item not in unwanted]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"MONITORING=0: {count} tests with a real Prometheus were left out", yellow=True
        )
    if count := config.stash.get(LONG, 0):
        terminalreporter.write_line(
            f"{count} tests with Spark were left out; MONITORING_LONG=1 runs them", yellow=True
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leaving everything out was asked for, and is no failure."""
    if (
        LEFT_OUT in session.config.stash
        and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    ):
        session.exitstatus = pytest.ExitCode.OK
