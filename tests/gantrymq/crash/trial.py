"""Life after life of a store in one folder, each ended where the test, or chance, says.

    with Nursery() as nursery:
        trial = Trial(nursery, folder)
        trial.live(Ending("serving", 0.1))      # killed 0.1 s after it began to take messages
        trial.check()                           # everything that was promised is there

With a `Mount` the power may be cut too: at a moment, or at a change of the disk.
"""

from __future__ import annotations

import os
import random
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, final

from gantrymq.crash.ledger import SHOWN_MAX, Ledger
from gantrymq.crash.nursery import Nursery
from gantrymq.crash.report import Line, Lines
from gantrymq.crash.writer import LAST_WORDS, STOPPED, Job
from gantrymq.powercut.mount import Mount
from gantrymq.store.settings import FlushDiskType

ANSWER_SECONDS: Final = 60.0  # for a writer to come where it should, on a machine that is busy
DYING_SECONDS: Final = 1.0  # for a writer without a disk to notice
PIPE_BYTES: Final = 1 << 16
RECOVERY_SECONDS: Final = (0.05, 0.3)  # it takes, on an idle machine and on a busy one


class How(Enum):
    """How a life ends."""

    KILL = "the process is killed"
    CUT = "the power is cut, then the process is killed"
    CUT_AT_CHANGE = "the power goes at one of the next changes of the disk"
    ALONE = "no kill ends it"


@final
@dataclass(frozen=True, slots=True)
class Ending:
    """So long after the writer has told this line, or so many changes of the disk."""

    kind: str = "stopped"
    seconds: float = 0.0
    changes: int = 0
    how: How = How.KILL


@final
class Life:
    """One writer, from its fork on."""

    def __init__(self, nursery: Nursery, job: Job) -> None:
        self._nursery = nursery
        self._pending = Lines()
        self.lines: list[Line] = []
        self.is_over = False
        self.status = STOPPED
        self.process, self._pipe = nursery.start(job)

    def wait_for(self, kind: str, seconds: float = ANSWER_SECONDS) -> bool:
        """Whether it told such a line in this time, and before its end."""
        seen = len(self.lines)
        deadline = time.monotonic() + seconds
        while not any(line.kind == kind for line in self.lines[seen:]):
            if self.is_over or not self._read(deadline):
                return False
        return True

    def run_on(self, seconds: float) -> None:
        """Let it, unless it ends before."""
        deadline = time.monotonic() + seconds
        while not self.is_over and self._read(deadline):
            pass

    def kill(self) -> None:
        """End it if it is not over, and read what it has told."""
        os.kill(self.process, signal.SIGKILL)
        self.end()

    def end(self) -> None:
        """Wait for its end, as long as it tells something now and then."""
        while not self.is_over and self._read(time.monotonic() + ANSWER_SECONDS):
            pass
        if not self.is_over:
            os.kill(self.process, signal.SIGKILL)
        os.close(self._pipe)
        self.status = self._nursery.wait(self.process)

    def told(self, kind: str) -> Sequence[str]:
        return [line.text for line in self.lines if line.kind == kind]

    def _read(self, deadline: float) -> bool:
        """Whether something came, if only the end, before the deadline."""
        seconds = max(0.0, deadline - time.monotonic())
        if not select.select([self._pipe], [], [], seconds)[0]:
            return False
        data = os.read(self._pipe, PIPE_BYTES)
        self.is_over = not data
        self.lines += self._pending.add(data)
        return True


@final
class Trial:
    """The lives of one folder, and the ledger of what they promised."""

    def __init__(
        self,
        nursery: Nursery,
        folder: Path,
        flush: FlushDiskType = FlushDiskType.SYNC_FLUSH,
        *,
        mount: Mount | None = None,
        mutant: str = "",
        seed: int = 0,
    ) -> None:
        self._nursery = nursery
        self._folder = folder
        self._flush = flush
        self._mount = mount
        self._mutant = mutant
        self._seed = seed
        self._lives = 0
        self.ledger = Ledger(flush)
        self.cuts = 0

    def start(self, *, puts: int = 100_000, is_all: bool = False) -> Life:
        """A writer, to be ended by `finish`."""
        self._lives += 1
        starts = self.ledger.known(is_all=is_all)
        root, flush = str(self._folder), self._flush.value
        return Life(self._nursery, Job(root, self._lives, starts, flush, puts, self._mutant))

    def finish(self, life: Life, *, is_all: bool = False) -> None:
        """Enter in the ledger what a life that is over has told."""
        figures = self.ledger.figures
        figures["lives"] += 1
        figures["kills"] += life.status == -signal.SIGKILL
        figures[f"ended while {_phase(life)}"] += 1
        self.ledger.add_life(life.lines, is_all=is_all)
        if life.status not in {STOPPED, LAST_WORDS, -signal.SIGKILL}:
            self.ledger.faults.append(f"status {life.status}: {life.told('last')}")

    def live(self, ending: Ending, *, puts: int = 100_000) -> Life:
        """A whole life."""
        life = self.start(puts=puts)
        if ending.how is How.CUT_AT_CHANGE:
            self._end_at_change(life, ending)
        elif ending.how is not How.ALONE and life.wait_for(ending.kind):
            life.run_on(ending.seconds)
        if ending.how is How.CUT:
            self.cut_power()
        if ending.how is How.ALONE:
            life.end()
        else:
            life.kill()
        self.finish(life)
        if ending.how is How.CUT_AT_CHANGE:
            self.cut_power()
        if ending.how in {How.CUT, How.CUT_AT_CHANGE}:
            self.ledger.cut()
        elif life.status == LAST_WORDS:
            self.ledger.faults.append(f"it gave up: {life.told('last')}")
        return life

    def cut_power(self, choices: str = "") -> None:
        """The disk loses what the choices say, or the seed; the ledger is not told."""
        assert self._mount is not None
        self.cuts += 1
        self._mount.cut(choices or f"{self._seed} {self.cuts}")

    def check(self) -> None:
        """Nothing is wrong up to now, nor with anything that is held in the end."""
        life = self.start(puts=0, is_all=True)
        life.end()
        self.finish(life, is_all=True)
        if life.status != STOPPED:
            self.ledger.faults.append(f"the last one gave up: {life.told('last')}")
        self.raise_faults()

    def raise_faults(self) -> None:
        faults = self.ledger.faults
        assert not faults, "\n".join([f"seed {self._seed}:", *faults[:SHOWN_MAX]])

    def summary(self) -> str:
        """Figures of all lives, for the report of the run."""
        figures = {name: count for name, count in self.ledger.figures.items() if count}
        figures_text = ", ".join(f"{count} {name}" for name, count in figures.items())
        return f"{self._flush.value} seed {self._seed}: {self.cuts} power cuts, {figures_text}"

    def _end_at_change(self, life: Life, ending: Ending) -> None:
        assert self._mount is not None
        if life.wait_for(ending.kind):
            self._mount.crash_at(self._mount.operations + ending.changes)
            life.run_on(ending.seconds)
            life.run_on(DYING_SECONDS)


def drawn(chance: random.Random, how: How) -> tuple[Ending, int]:
    """Some ending while the store starts, serves or stops, and how many puts there will be."""
    drawn = chance.random()
    changes = chance.randrange(1, 200)
    if drawn < 0.3:
        seconds = chance.uniform(0, chance.choice(RECOVERY_SECONDS))
        return Ending("opening", seconds, changes, how), 100
    if drawn < 0.5:
        return Ending("stopping", chance.uniform(0, 0.02), changes, how), chance.randrange(300)
    return Ending("serving", chance.uniform(0, 0.12), changes, how), 100_000


def _phase(life: Life) -> str:
    told = {line.kind for line in life.lines}
    for kind in ("last", "stopped", "stopping", "serving", "opened", "opening"):
        if kind in told:
            return kind
    return "starting"
