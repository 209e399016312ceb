"""Groups that are broken on purpose, each in one rule: the histories notice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from gantrymq.sim.checks.group_mutants import FIRST_NOTICED, MUTANTS, WHOLE

PROCESSES = 2

MUTANTS_ASKED = re.compile(r"test_(?:a_broken_group_is_noticed|the_group_as_it_is_passes)\[(.*)\]")

PROGRAM = """
import sys
import conftest
from gantrymq.sim.checks.group_mutants import is_noticed
print(is_noticed(sys.argv[1]))
"""


def noticed(name: str) -> str:
    """In a process of its own, on the `.py` of the compiled modules: see group_mutants.py."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name],
        env={
            **os.environ,
            "GANTRY_PURE": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Future[str]]]:
    """The outcomes of all mutants that this run tests; two processes run at a time."""
    names = [MUTANTS_ASKED.match(each.name) for each in request.session.items]
    with ThreadPoolExecutor(PROCESSES) as pool:
        yield {name[1]: pool.submit(noticed, name[1]) for name in names if name is not None}


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", sorted(MUTANTS.keys() - {WHOLE}))
def test_a_broken_group_is_noticed(
    name: str, outcomes: Mapping[str, Future[str]], request: pytest.FixtureRequest
) -> None:
    outcome = outcomes[name].result()
    assert outcome.isdecimal(), f"{MUTANTS[name].budget} seeds notice nothing: {outcome}"
    if int(outcome) != FIRST_NOTICED.get(name, 0):
        writer = request.config.get_terminal_writer()
        writer.line(f"\nFIRST_NOTICED is out of date: seed {outcome} shows {name!r}")


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", [WHOLE])
def test_the_group_as_it_is_passes(name: str, outcomes: Mapping[str, Future[str]]) -> None:
    assert outcomes[name].result() == "None"
