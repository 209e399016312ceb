"""kill -9 of a broker's process while clients of every kind work with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.crash.broker_trial import BrokerTrial
from gantrymq.crash.sizes import KILLS_OF_A_BROKER


@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
def test_kills_take_nothing_that_was_answered(
    tmp_path: Path, seed: int, flush: str, figures: list[str]
) -> None:
    with BrokerTrial(tmp_path, flush, seed) as trial:
        trial.run(KILLS_OF_A_BROKER)
        trial.check()
        figures.append(trial.summary())
