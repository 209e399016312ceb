"""Disks that fail a sync, or are full, under a running store."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.crash.nursery import Nursery
from gantrymq.crash.trial import Ending, How, Trial
from gantrymq.crash.writer import LAST_WORDS
from gantrymq.powercut.mount import Mount


@pytest.mark.parametrize("path", ["", "consumequeue/Topic0/0/00000000000000000000"])
def test_after_a_failed_sync_the_process_ends_and_nothing_more_is_answered(
    nursery: Nursery, mount: Mount, path: str
) -> None:
    trial = Trial(nursery, mount.root, mount=mount)
    life = trial.start()
    assert life.wait_for("ok")
    path = path or trial.ledger.log_file(life.lines)
    mount.fail("sync", path=path)
    life.end()
    assert life.status == LAST_WORDS
    assert life.lines[-1].kind == "last"
    (words,) = life.told("last")
    assert words.startswith(f"SyncFailedError: sync {path}: Input/output error")
    assert "this process must end: look at the device" in words
    trial.finish(life)
    trial.cut_power()
    trial.ledger.cut()
    trial.check()


@pytest.mark.parametrize("path", ["gantry/marks", "checkpoint"])
def test_a_failed_sync_of_what_only_saves_work_ends_nothing(
    nursery: Nursery, mount: Mount, path: str
) -> None:
    trial = Trial(nursery, mount.root, mount=mount)
    life = trial.start()
    assert life.wait_for("ok")
    mount.fail("sync", path=path)
    life.run_on(1.0)
    assert life.wait_for("ok")
    life.kill()
    trial.finish(life)
    trial.cut_power()
    trial.ledger.cut()
    trial.check()


def test_a_full_disk_refuses_keeps_what_it_has_and_goes_on_when_there_is_space(
    nursery: Nursery, small_disk: Path
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(2 << 20))
    trial = Trial(nursery, small_disk / "store")
    life = trial.start()
    assert life.wait_for("refused")
    life.run_on(0.2)
    life.kill()
    trial.finish(life)
    assert "the broker's disk is full" in life.told("refused")[0]
    life = trial.start()
    assert life.wait_for("refused")
    ballast.unlink()
    assert life.wait_for("ok")
    life.kill()
    trial.finish(life)
    trial.live(Ending("refused", 0.1))
    trial.live(Ending("stopping", how=How.ALONE), puts=100)
    trial.check()
