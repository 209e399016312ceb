"""Three members, each in a network of its own, are struck while Java's clients and ours work."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gantrymq.cycles import judgement
from gantrymq.cycles.clients.load import JAVA_RELEASE
from gantrymq.cycles.hosts.enclosure import enclosed, refusal
from gantrymq.cycles.outcome import Outcome, load
from gantrymq.cycles.plan import CYCLES
from gantrymq.interop.toolchain import JarSet, missing_tools, release
from gantrymq.sim.first_seed import first_seed

SEED = int(os.environ.get("CYCLES_SEED", first_seed()))
CYCLE_SECONDS = 120  # twenty in the mean; of those that wait for Java's heartbeats, a minute


def must_be_possible() -> None:
    if why := refusal():
        pytest.fail(
            f"there can be no namespaces here: {why}. These tests need root and the right to make"
            " them (a container: --privileged). GANTRY_CYCLES=0 leaves them out.",
            pytrace=False,
        )
    if missing := missing_tools(("java", "javac", "mvn"), "GANTRY_CYCLES=0"):
        pytest.fail(missing, pytrace=False)
    release(JarSet.CYCLES, JAVA_RELEASE)  # there is no way to Maven's jars from within


def run(folder: Path, figures: list[str]) -> Outcome:
    """Every line is kept; the last of its log where it fails."""
    log = folder / "run.log"
    arguments = [str(folder), str(CYCLES), str(SEED)]
    with enclosed("gantrymq.cycles.run", arguments, log) as process:
        assert process.stdout is not None
        for line in process.stdout:
            figures.append(line.rstrip())
            sys.stdout.write(line)
    assert process.returncode == 0, f"seed {SEED}: {log.read_text()}"
    return load(folder / "outcome.json")


@pytest.mark.timeout(CYCLE_SECONDS * CYCLES + 300)
def test_nothing_acknowledged_is_lost_whatever_strikes(tmp_path: Path, figures: list[str]) -> None:
    must_be_possible()
    outcome = run(tmp_path, figures)
    figures += ["", *judgement.table(outcome.cycles), ""]
    faults = [fault for audit in outcome.audits for fault in audit.faults]
    assert not faults, f"seed {SEED}"
    assert len(outcome.cycles) == CYCLES
    missed = list(judgement.misses(outcome.cycles))
    figures += [f"missed: {each}" for each in missed]
    assert not judgement.broken(outcome.cycles)
    if CYCLES >= judgement.FEW:
        assert not missed
