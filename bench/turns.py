"""Whose turn it is: one runs and is measured, those it is compared with stand still.

Servers that nobody asks are not at rest. A Java machine goes on compiling what it ran before, and
services of its broker look for work each millisecond; beside a server of which the next round is
measured, that takes half of the core, and of the caches it takes more. So whoever has no turn is
stopped, and what a Java machine compiles is compiled in its own rounds, of which the first of each
kind does not count. A turn begins with memory that the machine has for sure.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from bench import memory

# Whoever stood still has timers to make up for, which are no matter of the round.
CATCH_UP_SECONDS: Final = 0.1


class Party(Protocol):
    """Somebody with turns."""

    def process_ids(self) -> Sequence[int]:
        """Of what stands still while others have theirs."""


@contextmanager
def alone(parties: Iterable[Party], others: Iterable[Party]) -> Iterator[None]:
    """Of all these, only `parties` run while inside."""
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
        with suppress(ProcessLookupError):  # it has ended
            os.kill(process_id, what)


def in_turns(rounds: int, *sides: Mapping[str, Party]) -> Iterator[tuple[int, str]]:
    """Each round's number with each name; only who is called so runs meanwhile.

    `sides` are servers and their clients, say, of which those of one name have turns together.
    """
    everybody = [party for side in sides for party in side.values()]
    for number in range(rounds):
        for name in sides[0]:
            with alone([side[name] for side in sides], everybody):
                yield number, name


def counted(rounds: int, *sides: Mapping[str, Party]) -> Iterator[tuple[bool, str]]:
    """One round more than that, and whether it counts: the first warms up."""
    for number, name in in_turns(rounds + 1, *sides):
        yield number > 0, name
