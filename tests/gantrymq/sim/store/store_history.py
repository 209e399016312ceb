"""Runs one history of a store: life after life on a disk with faults from the seed.

    run(script_of(seed))        raises what went wrong; returns how often each event happened

After the last life the store is recovered twice more, with a power cut in between: a repeated
recovery changes nothing. Then it settles on a disk without faults and stops. A SyncFailedError ends
a life like a kill, and so does a start that the disk refuses; any other exception is a defect.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Final

from gantrymq.base.disk import DiskError
from gantrymq.sim.store.store_ledger import Ledger
from gantrymq.sim.store.store_life import DISK_BYTES, Clock, Running
from gantrymq.sim.store.store_script import (
    QUIET,
    TOPICS,
    Ending,
    Life,
    Put,
    Script,
    Sending,
    Settle,
    Wait,
)
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.store.layout import ABORT
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.memory_disk import Storage
from gantrymq.testing.unsynced import Chooser

LAST_STEPS: Final = (
    Put((Sending(TOPICS[0], 0, 100, keys="a"),)),
    Settle(),
    Wait(61.0),
    Settle(),
    Wait(61.0),
    Settle(),
    Wait(1.1),
)


def chooser(seed: int) -> Chooser:
    """The random choices of the disk, from the seed."""
    random = Random(seed).random
    return lambda count: int(random() * count)


def run(script: Script) -> Counter[str]:
    """Run the whole history; return how often each event happened."""
    tally: Counter[str] = Counter()
    clock, ledger = Clock(), Ledger()
    disk = FaultyDisk(chooser(script.seed), storage=Storage(DISK_BYTES, clock.wall_ms))
    for life in script.lives:
        disk = _live(disk, life, ledger, clock, tally)
    last = Life(script.lives[-1].settings, Ending.POWER_CUT)
    for _ in range(2):
        disk = _live(disk, last, ledger, clock, tally)
    _rest(disk, replace(last, ending=Ending.CLOSE), ledger, clock)
    return tally


def _rest(disk: FaultyDisk, life: Life, ledger: Ledger, clock: Clock) -> None:
    """Settle the store on a disk without faults, sync everything, and stop it cleanly."""
    running = Running(disk, life, ledger, clock, Counter())
    running.open()
    for step in LAST_STEPS:
        running.do(step)
    running.audit()
    running.be_at_rest()
    running.close()
    again = Running(disk.crash(), life, ledger, clock, Counter())
    again.open()
    assert again.store.report.is_clean, "a clean stop was none"
    again.audit(is_fresh=True)


def _live(
    disk: FaultyDisk, life: Life, ledger: Ledger, clock: Clock, tally: Counter[str]
) -> FaultyDisk:
    """Run one life; return the disk for the next one."""
    running = Running(disk, life, ledger, clock, tally)
    disk.memory.total_bytes = DISK_BYTES
    clock.wall_ms += 1000
    disk.memory.now_ms = clock.wall_ms
    _lose(disk, life.lost, ledger, tally)
    disk.faults = life.open_faults
    _cut_after(disk, life.open_cut)
    place = "starting"
    try:
        running.open()
        disk.faults = QUIET
        disk.crash_at = None
        running.audit(is_fresh=True)
        place = "running"
        disk.faults = life.step_faults
        _cut_after(disk, life.step_cut)
        for step in life.steps:
            running.do(step)
        disk.crash_at = None
        if life.ending is Ending.CLOSE:
            place = "stopping"
            _cut_after(disk, life.close_cut)
            running.close()
        ending = life.ending
    except PowerCut:
        ending = Ending.POWER_CUT
        tally[f"power cuts while {place}"] += 1
    except SyncFailedError:
        ending = Ending.KILL if disk.choose(2) else Ending.POWER_CUT
        tally[f"failed syncs while {place}"] += 1
    except DiskError:
        if place == "running":
            raise
        ending = Ending.KILL
        tally[f"refused while {place}"] += 1
    disk.faults = QUIET
    running.count()
    tally[f"ended by {ending.value}"] += 1
    if ending is Ending.POWER_CUT:
        ledger.had_power_cut = True
        return disk.crash()
    return disk.kill()


def _lose(disk: FaultyDisk, folder: str, ledger: Ledger, tally: Counter[str]) -> None:
    """Remove this folder, if the test can check the result. Recovery does not rebuild what the log
    has deleted, and after a crash it does not notice one missing queue while the store has new
    ones. Without Gantry's own files deleted topics return, and a power cut loses what it loses in
    Java."""
    is_clean = not any(entry.name == ABORT for entry in disk.list(""))
    is_borne = is_clean or "/" not in folder
    if folder == "gantry":
        is_borne = (is_clean or not ledger.had_power_cut) and not ledger.deleted
    if folder and is_borne and not ledger.deleted_below:
        _remove(disk, folder)
        ledger.is_damaged = True
        tally["lost folders"] += 1


def _remove(disk: FaultyDisk, path: str) -> None:
    """Remove this folder with everything in it."""
    for entry in disk.list(path):
        if entry.is_folder:
            _remove(disk, f"{path}/{entry.name}")
        else:
            disk.remove(f"{path}/{entry.name}")
    if disk.memory.find(path) is not None:
        disk.sync_folder(path)
        disk.remove(path)
        disk.sync_folder(path.rpartition("/")[0])


def _cut_after(disk: FaultyDisk, operations: int) -> None:
    disk.crash_at = disk.operations + operations if operations else None
