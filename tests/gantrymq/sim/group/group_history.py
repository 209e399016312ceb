"""Runs one history of a group from a seed: its members, its troubles, and the final checks.

run(seed)        answers what happened how often; raises Failure, with the story

python -m gantrymq.sim.group.group_history SEED        the same, for people
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace

from gantrymq.sim.group.group_simulation import Group
from gantrymq.sim.group.group_world import World
from gantrymq.sim.group_troubles.plan import Plan
from gantrymq.sim.group_troubles.table import drawn_plan


class Failure(AssertionError):  # noqa: N818 - it is what pytest shows
    """A rule was broken; the text is all there is to know of it."""


def run(seed: int) -> Counter[str]:
    """All of it, as the seed has it."""
    group = Group(seed, drawn(seed))
    try:
        group.run()
    except Exception as error:
        raise Failure(_told(seed, group, error)) from error
    return group.tally()


def drawn(seed: int) -> Plan:
    """What befalls it."""
    plan = drawn_plan(World(seed).random("plan"))
    return replace(plan, renews=World(seed).random("renews").random() < 0.5)


def failing(seed: int, plan: Plan) -> Exception | None:
    """What goes wrong with another plan than the seed's own."""
    try:
        Group(seed, plan).run()
    except Exception as error:
        return error
    return None


def digest(seed: int) -> str:
    """A digest of the history of this seed, also of one that ends with an error."""
    group = Group(seed, drawn(seed))
    try:
        group.run()
    except Exception as error:
        group.world.tell(f"{type(error).__name__}: {error}")
    return group.world.story.digest


def _told(seed: int, group: Group, error: Exception) -> str:
    return (
        f"{group.world.story}\n\n{type(error).__name__}: {error}\n"
        f"at {group.world.now:.4f} s of seed {seed}, commit {_commit()}: make sim SEED={seed}"
        f" tells it again\n{group.plan}"
    )


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def main() -> None:
    seed = int(sys.argv[1])
    group = Group(seed, drawn(seed))
    try:
        group.run()
    except Exception as error:
        sys.stdout.write(_told(seed, group, error) + "\n")
        if "--trace" in sys.argv:
            raise
        sys.exit(1)
    rows = [f"{count:9} {what}\n" for what, count in sorted(group.tally().items())]
    sys.stdout.write(f"{group.world.story}\n\n{''.join(rows)}seed {seed}: all is well\n")


if __name__ == "__main__":
    main()
