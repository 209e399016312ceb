"""Power cuts: what was not synced is lost, torn or reordered, and no promise is broken.

The same cuts must find out stores that break theirs.
"""

from __future__ import annotations

import random

import pytest

from gantrymq.crash.nursery import Nursery
from gantrymq.crash.sizes import POWER_CUTS
from gantrymq.crash.trial import Ending, How, Trial, drawn
from gantrymq.crash.writer import LAST_WORDS
from gantrymq.powercut.mount import Mount
from gantrymq.store.settings import FlushDiskType

# A kill between two cuts leaves the next life with what is not on disk and looks as if it were.
HOWS = (How.KILL, How.CUT, How.CUT_AT_CHANGE, How.CUT_AT_CHANGE)


def live_through_cuts(trial: Trial, seed: int) -> None:
    """Lives that end by a cut, or now and then by a kill; until something is wrong."""
    chance = random.Random(seed)
    while trial.cuts < POWER_CUTS and not trial.ledger.faults:
        ending, puts = drawn(chance, chance.choice(HOWS))
        trial.live(ending, puts=puts)


@pytest.mark.parametrize("flush", FlushDiskType)
def test_power_cuts_take_nothing_that_was_promised(
    nursery: Nursery, mount: Mount, seed: int, flush: FlushDiskType, figures: list[str]
) -> None:
    trial = Trial(nursery, mount.root, flush, mount=mount, seed=seed)
    live_through_cuts(trial, seed)
    trial.check()
    figures.append(trial.summary())


def test_same_power_cuts_reveal_a_store_that_does_not_sync(
    nursery: Nursery, mount: Mount, seed: int, figures: list[str]
) -> None:
    trial = Trial(nursery, mount.root, mount=mount, mutant="deaf", seed=seed)
    live_through_cuts(trial, seed)
    assert any("is lost" in fault or "damaged" in fault for fault in trial.ledger.faults)
    figures.append(f"without syncs, found out by cut {trial.cuts}: {trial.ledger.faults[0]}")


@pytest.mark.parametrize("mutant", ["", "lazy"])
def test_what_recovery_keeps_is_on_disk_before_consumers_see_it(
    nursery: Nursery, mount: Mount, mutant: str
) -> None:
    """A failed sync leaves bytes that are read but not on disk, whatever is synced later.

    The cut takes all of them: one that chance let through would hide the mutant.
    """
    trial = Trial(nursery, mount.root, mount=mount, mutant=mutant)
    life = trial.start()
    assert life.wait_for("ok")
    mount.fail("sync", path=trial.ledger.log_file(life.lines))
    life.end()
    trial.finish(life)
    assert life.status == LAST_WORDS
    life = trial.live(Ending("serving"))
    assert life.told("held")
    trial.cut_power(choices="lose_all")
    trial.ledger.cut()
    if mutant:
        with pytest.raises(AssertionError, match=r"is lost|damaged"):
            trial.check()
    else:
        trial.check()
