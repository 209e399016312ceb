"""Lets one implementation run and be measured while the others are stopped.

A server without requests is not idle. A JVM goes on compiling code that it ran before, and services
of its broker look for work every millisecond; beside a server under measurement that takes half of
the core, and more of the caches. So every party outside its turn is stopped, and the JVM compiles
in its own rounds, of which the first of each kind does not count. Before a turn, the memory that it
needs is made available.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from bench import memory

# A process that was stopped has timers to catch up with, which must not count in the round.
CATCH_UP_SECONDS: Final = 0.1


class Party(Protocol):
    """An implementation that has turns."""

    def process_ids(self) -> Sequence[int]:
        """The processes to stop while other parties have their turn."""


@contextmanager
def alone(parties: Iterable[Party], others: Iterable[Party]) -> Iterator[None]:
    """Let only `parties` run inside the context; `others` are stopped."""
    running = {process_id for party in parties for process_id in party.process_ids()}
    stopped = [
        process_id
        for other in others
        for process_id in other.process_ids()
        if process_id not in running
    ]
    try:
        _tell(stopped, signal.SIGSTOP)
        memory.touch()
        time.sleep(CATCH_UP_SECONDS)
        yield
    finally:
        _tell(stopped, signal.SIGCONT)


def proceed(parties: Iterable[Party]) -> None:
    """Let all parties run: an error may have left one stopped, and a stopped process never ends."""
    _tell((each for party in parties for each in party.process_ids()), signal.SIGCONT)


def _tell(process_ids: Iterable[int], what: signal.Signals) -> None:
    for process_id in process_ids:
        with suppress(ProcessLookupError):  # the process has ended
            os.kill(process_id, what)


def in_turns(rounds: int, *sides: Mapping[str, Party]) -> Iterator[tuple[int, str]]:
    """Each round's number with each name; only the parties of this name run during the turn.

    `sides` are, for example, servers and their clients: those of one name have their turns
    together.
    """
    parties = [party for side in sides for party in side.values()]
    for number in range(rounds):
        for name in sides[0]:
            with alone([side[name] for side in sides], parties):
                yield number, name


def counted(rounds: int, *sides: Mapping[str, Party]) -> Iterator[tuple[bool, str]]:
    """One round more than `rounds`, each with whether it counts: the first is a warm-up."""
    for number, name in in_turns(rounds + 1, *sides):
        yield number > 0, name
