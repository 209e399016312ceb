"""Failovers of real processes, again and again. GANTRY_CYCLES says how often, and 0 leaves it out.

They need root and the right to make namespaces, and Java; they fail where these are missing.
CYCLES_SEED draws other faults; without it every commit draws others.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.cycles.plan import CYCLES

HERE = Path(__file__).parent
LEFT_OUT = pytest.StashKey[bool]()
FIGURES = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if CYCLES:
        return
    ours = [item for item in items if HERE in item.path.parents]
    config.hook.pytest_deselected(items=ours)
    config.stash[LEFT_OUT] = True
    items[:] = [item for item in items if item not in ours]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash.get(LEFT_OUT, False):
        terminalreporter.write_line(
            "GANTRY_CYCLES=0: failovers of real processes were left out", yellow=True
        )
    for line in config.stash.get(FIGURES, []):
        terminalreporter.write_line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leaving it out was asked for, and is no failure."""
    if (
        LEFT_OUT in session.config.stash
        and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    ):
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> list[str]:
    """Lines to be shown at the end of the run."""
    return request.config.stash.setdefault(FIGURES, [])
