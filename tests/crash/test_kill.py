"""kill -9 at any moment: what was answered PUT_OK is there, and nothing that was never sent."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gantrymq.crash.nursery import Nursery
from gantrymq.crash.sizes import FOLDERS, KILLS_OF_A_STORE
from gantrymq.crash.trial import Ending, How, Trial, drawn
from gantrymq.store.settings import FlushDiskType


@pytest.mark.parametrize("folder", range(FOLDERS))
def test_kills_take_nothing_that_was_answered(
    nursery: Nursery, store_folder: Path, seed: int, folder: int, figures: list[str]
) -> None:
    """The log of one folder grows through all of its lives."""
    trial = Trial(nursery, store_folder, seed=seed + folder)
    chance = random.Random(seed + folder)
    while trial.ledger.figures["kills"] < KILLS_OF_A_STORE and not trial.ledger.faults:
        ending, puts = drawn(chance, How.KILL)
        trial.live(ending, puts=puts)
    trial.check()
    figures.append(trial.summary())


def test_what_the_system_has_survives_a_kill_without_any_sync(
    nursery: Nursery, store_folder: Path, seed: int, figures: list[str]
) -> None:
    trial = Trial(nursery, store_folder, FlushDiskType.ASYNC_FLUSH, seed=seed)
    chance = random.Random(seed)
    while trial.ledger.figures["kills"] < KILLS_OF_A_STORE // 2 and not trial.ledger.faults:
        ending, puts = drawn(chance, How.KILL)
        trial.live(ending, puts=puts)
    trial.check()
    figures.append(trial.summary())


def test_a_clean_stop_leaves_nothing_to_do(nursery: Nursery, store_folder: Path) -> None:
    trial = Trial(nursery, store_folder)
    trial.live(Ending(how=How.ALONE), puts=500)
    life = trial.live(Ending(how=How.ALONE), puts=0)
    assert life.told("stopped")
    ((_, rewritten, rebuilt, walked, is_clean),) = [
        map(int, text.split()) for text in life.told("serving")
    ]
    assert (rewritten, rebuilt, walked, is_clean) == (0, 0, 0, True)
    trial.check()
