"""MONITORING=0 leaves these tests out; they need Prometheus, from the PATH or from Debian."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LEFT_OUT = pytest.StashKey[int]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("MONITORING") != "0":
        return
    ours = [item for item in items if HERE in item.path.parents]
    config.hook.pytest_deselected(items=ours)
    config.stash[LEFT_OUT] = len(ours)
    items[:] = [item for item in items if item not in ours]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if count := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"MONITORING=0: {count} tests with a real Prometheus were left out", yellow=True
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leaving everything out was asked for, and is no failure."""
    if (
        LEFT_OUT in session.config.stash
        and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    ):
        session.exitstatus = pytest.ExitCode.OK
