"""Provides programs with RocketMQ's names: mqnamesrv, mqbroker, mqadmin, mqshutdown.

The first three are `gantry namesrv`, `gantry broker` and `gantry COMMAND`, whose options are
those of RocketMQ. mqshutdown sends SIGTERM to a process of the same user.

Invariant: mqshutdown signals only Gantry processes of this user. If several run, it signals the one
that is named, or all of them with --all.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Final

_USAGE: Final = "Useless parameters! usage: mqshutdown (namesrv|broker) [PID|--all]\n"
_PROGRAMS: Final = {"namesrv": "mqnamesrv", "broker": "mqbroker"}


def mqnamesrv() -> None:
    from gantrymq.namesrv.main import run  # noqa: PLC0415 - programs load when asked for

    sys.exit(run(sys.argv[1:]))


def mqbroker() -> None:
    from gantrymq.broker.main import run  # noqa: PLC0415 - as above

    sys.exit(run(sys.argv[1:]))


def mqadmin() -> None:
    from gantrymq.cli.main import run  # noqa: PLC0415 - as above

    sys.exit(run(sys.argv[1:]))


def mqshutdown() -> None:
    sys.exit(shut_down(sys.argv[1:], Path("/proc"), os.getuid()))


def shut_down(arguments: list[str], processes: Path, user: int) -> int:
    """Send SIGTERM to the chosen processes; return the exit code."""
    if not arguments or arguments[0] not in _PROGRAMS or len(arguments) > 2:
        sys.stderr.write(_USAGE)
        return 2
    program, name = arguments[0], _PROGRAMS[arguments[0]]
    running = [pid for pid in _own(processes, user) if _is(processes / str(pid), program)]
    if not running:
        sys.stderr.write(f"No {name} running.\n")
        return 1
    wanted = _chosen(arguments[1:], running)
    if wanted is None:
        listed = ", ".join(map(str, running))
        sys.stderr.write(
            f"{name} runs as {listed}: say which one (mqshutdown {program} PID), or --all\n"
        )
        return 2
    for pid in wanted:
        sys.stdout.write(f"The {name}({pid}) is running...\n")
        os.kill(pid, signal.SIGTERM)
        sys.stdout.write(f"Send shutdown request to {name}({pid}) OK\n")
    return 0


def _chosen(said: list[str], running: list[int]) -> list[int] | None:
    """The processes to signal; None if it is ambiguous, or if the named process is none of them."""
    if said == ["--all"] or (not said and len(running) == 1):
        return running
    named = [pid for pid in running if said == [str(pid)]]
    return named or None


def _own(processes: Path, user: int) -> list[int]:
    found = []
    for folder in processes.iterdir():
        try:
            is_own = folder.name.isdigit() and folder.stat().st_uid == user
        except FileNotFoundError:  # the process has just ended
            continue
        if is_own:
            found.append(int(folder.name))
    return sorted(found)


def _is(folder: Path, program: str) -> bool:
    """Whether a process runs `gantry PROGRAM` or `mqPROGRAM` as a script: the script's name is the
    first word of its command line, or the second one behind the interpreter."""
    try:
        words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return False
    if Path(words[0]).name.startswith("python"):
        del words[0]
    names = [Path(word).name for word in words[:2]]
    return names[:1] == [_PROGRAMS[program]] or names == ["gantry", program]
