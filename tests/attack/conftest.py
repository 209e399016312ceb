"""Attacks on live servers, with legitimate clients beside them. ATTACK=0 leaves them out.

The run ends with a table: attack, outcome, memory, probes, what the legitimate clients saw.
ATTACK_RECORD=file keeps the rows as JSON, from which docs/design/attacks.md has its table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from gantrymq.attack.report import Row, save, terminal_lines
from gantrymq.attack.site import Site
from gantrymq.attack.trial import Trial, trial
from gantrymq.left_out import leave_out

HERE = Path(__file__).parent
BUDGET_SECONDS = 120
ROWS = pytest.StashKey[list[Row]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.timeout(BUDGET_SECONDS))
    if os.environ.get("ATTACK") == "0":
        leave_out(config, items, ours, "ATTACK=0: {} attacks on live servers left out")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = config.stash.get(ROWS, [])
    if not rows:
        return
    terminalreporter.section("attacks")
    for line in terminal_lines(rows):
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def _record(rows: list[Row]) -> Iterator[None]:
    """Save the rows so far, so that a run that ends early has recorded them."""
    yield
    if rows and (record := os.environ.get("ATTACK_RECORD")):
        save(Path(record), rows)


@pytest.fixture(scope="session")
def rows(request: pytest.FixtureRequest) -> list[Row]:
    """The outcomes of all attacks of the run."""
    return request.config.stash.setdefault(ROWS, [])


@pytest.fixture(scope="session")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Servers without any security setting."""
    with Site(tmp_path_factory.mktemp("open")) as site:
        yield site


@pytest.fixture(scope="session")
def guarded_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Servers with access control and TLS."""
    with Site(tmp_path_factory.mktemp("guarded"), is_guarded=True) as site:
        yield site


@pytest.fixture
def fresh_site(tmp_path: Path) -> Iterator[Site]:
    """Servers for one test, which may fill them."""
    with Site(tmp_path) as site:
        yield site


@pytest.fixture
def attack(open_site: Site, rows: list[Row]) -> Trial:
    """Begin an attack on the open servers."""
    return partial(trial, open_site, rows)


@pytest.fixture
def guarded_attack(guarded_site: Site, rows: list[Row]) -> Trial:
    """Begin an attack on the guarded servers."""
    return partial(trial, guarded_site, rows)


@pytest.fixture
def fresh_attack(fresh_site: Site, rows: list[Row]) -> Trial:
    """Begin an attack on servers of its own."""
    return partial(trial, fresh_site, rows)
