"""Reduces a failing history to the shortest script that still fails.

    python -m gantrymq.sim.store.store_reduce SEED        with tests/ and the sources on PYTHONPATH

It runs for SECONDS at most, tries each shorter script with a few seeds of the disk, and accepts it
if it fails with the same kind of error.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from dataclasses import fields, replace
from time import monotonic
from typing import Final

from gantrymq.sim.store.store_history import run
from gantrymq.sim.store.store_script import QUIET, Kind, Life, Put, Script, Sending, Step, script_of
from gantrymq.store.settings import StoreSettings

SECONDS: Final = 120.0
FATES: Final = 6

SIMPLER: Final = (
    {"count": 1},
    {"keys": ""},
    {"tags": ""},
    {"delay": 0},
    {"kind": Kind.PLAIN},
    {"body_bytes": 20},
    {"queue_id": 0},
)


def failure(script: Script) -> str:
    """The kind of error with which the script ends; "" if it does not fail."""
    try:
        run(script)
    except Exception as error:
        return type(error).__name__
    return ""


def reduced(script: Script) -> Script:
    """A shorter script that fails with the same kind of error."""
    wanted = failure(script)
    stop = monotonic() + SECONDS
    while monotonic() < stop:
        shorter = next(
            (each for each in _with_fates(script) if failure(each) == wanted or monotonic() > stop),
            None,
        )
        if shorter is None or monotonic() > stop:
            break
        script = shorter
    return script


def _with_fates(script: Script) -> Iterator[Script]:
    for shorter in _shorter(script):
        yield shorter
        for seed in range(FATES):
            yield replace(shorter, seed=seed)


def _shorter(script: Script) -> Iterator[Script]:
    lives = script.lives
    for at, life in enumerate(lives):
        if len(lives) > 1:
            yield replace(script, lives=lives[:at] + lives[at + 1 :])
        for other in _shorter_lives(life):
            yield replace(script, lives=(*lives[:at], other, *lives[at + 1 :]))


def _shorter_lives(life: Life) -> Iterator[Life]:
    size = len(life.steps)
    while size := size // 2:
        for at in range(0, len(life.steps), size):
            yield replace(life, steps=life.steps[:at] + life.steps[at + size :])
    if life.open_cut or life.step_cut or life.close_cut:
        yield replace(life, open_cut=0)
        yield replace(life, step_cut=0)
        yield replace(life, close_cut=0)
    if life.open_faults != QUIET or life.step_faults != QUIET:
        yield replace(life, open_faults=QUIET, step_faults=QUIET)
    for at, step in enumerate(life.steps):
        for other in _simpler(step):
            yield replace(life, steps=(*life.steps[:at], other, *life.steps[at + 1 :]))


def _simpler(step: Step) -> Iterator[Step]:
    if not isinstance(step, Put):
        return
    sendings = step.sendings
    for at, sending in enumerate(sendings):
        if len(sendings) > 1:
            yield Put(sendings[:at] + sendings[at + 1 :])
        for change in SIMPLER:
            other: Sending = replace(sending, **change)
            if other != sending:
                yield Put((*sendings[:at], other, *sendings[at + 1 :]))


def text(script: Script) -> str:
    """The script as readable text."""
    lines = [f"disk's seed {script.seed}"]
    usual = StoreSettings()
    for life in script.lives:
        unusual = [
            f"{each.name}={getattr(life.settings, each.name)}"
            for each in fields(life.settings)
            if getattr(life.settings, each.name) != getattr(usual, each.name)
        ]
        rest = replace(life, settings=usual, steps=())
        lines += ["", " ".join(unusual), str(rest).replace(str(usual), "")]
        lines += [f"    {step}" for step in life.steps]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    result = reduced(script_of(int(sys.argv[1])))
    sys.stdout.write(text(result))
    try:
        run(result)
    except Exception:
        traceback.print_exc()
