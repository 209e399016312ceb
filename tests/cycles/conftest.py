"""Failovers of real processes, again and again. GANTRY_CYCLES says how often, and 0 leaves it out.

They need root and the right to make namespaces, and Java; they fail where these are missing.
CYCLES_SEED draws other faults; without it every commit draws others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.cycles.plan import CYCLES
from gantrymq.left_out import leave_out

HERE = Path(__file__).parent
FIGURES = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not CYCLES:
        ours = [item for item in items if HERE in item.path.parents]
        leave_out(config, items, ours, "GANTRY_CYCLES=0: {} failovers of real processes left out")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash.get(FIGURES, []):
        terminalreporter.write_line(line)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> list[str]:
    """Lines to be shown at the end of the run."""
    return request.config.stash.setdefault(FIGURES, [])
