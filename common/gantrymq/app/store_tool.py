"""`gantry store`: the command line of the tools for a store that no broker uses.

Exit codes: 0 sound, or done; 1 findings; 2 it cannot be done. What the commands do is in
store_commands.py and store_identity.py, which are imported only when one of them runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Final

from gantrymq.base.errors import GantryError

_PROGRAM: Final = "gantry store"
_OF_IDENTITY: Final = frozenset({"identity", "adopt", "archive"})
_EPILOG: Final = """\
DIR is storePathRootDir: the folder that holds commitlog, consumequeue and index. The sizes of its
files are found out; -c broker.conf or --set mappedFileSizeCommitLog=... say them where they cannot
be. Exit codes: 0 sound, 1 findings, 2 it cannot be read.
"""


def run(argv: list[str]) -> int:
    """Run one of the commands; the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write(f"{_PROGRAM} {arguments.command}: interrupted; run it again\n")
        return 130
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (GantryError, OSError) as error:
        sys.stderr.write(f"{_PROGRAM} {arguments.command}: {error}\n")
        return 2


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command in _OF_IDENTITY:
        from gantrymq.app import store_identity  # noqa: PLC0415 - --help need not wait for it

        return store_identity.run_command(arguments)
    from gantrymq.app import store_commands  # noqa: PLC0415 - as above

    return store_commands.run_command(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Look at a store of RocketMQ or Gantry while no broker uses it; repair it.\n"
        "Decide what becomes of a disk that its group does not know.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _command(commands, "check", "read everything, and say what does not agree")
    _command(commands, "stats", "count messages and bytes by topic and queue; list kept tails")
    dump = _command(commands, "dump", "print messages, or what lists there are")
    dump.add_argument("--topic", help="only of this topic")
    dump.add_argument("--queue", type=int, metavar="ID", help="only of queues with this number")
    dump.add_argument("--key", help="only with this key or unique key")
    dump.add_argument("--from", dest="first", type=int, default=0, metavar="POSITION")
    dump.add_argument("--to", dest="past", type=int, metavar="POSITION", help="not included")
    dump.add_argument("--limit", type=int, metavar="N", help="at most so many messages")
    dump.add_argument("--body", action="store_true", help="whole bodies, unpacked")
    lists = dump.add_mutually_exclusive_group()
    lists.add_argument("--tail", metavar="FILE", help="of what was cut off the log; see stats")
    lists.add_argument("--queues", action="store_true", help="list the queues instead")
    lists.add_argument("--index", action="store_true", help="list the index files instead")
    lists.add_argument("--checkpoint", action="store_true", help="print checkpoint and marks")
    repair = _command(commands, "repair", "say what to do about it, and with --yes do it")
    repair.add_argument("--yes", action="store_true", help="do it; without, nothing is changed")
    repair.add_argument("--keep", choices=["older", "newer"], help="the side of a gap in the log")
    repair.add_argument(
        "--rebuild", choices=["queues", "index", "all"], help="from the log, damaged or not"
    )
    _add_identity_commands(commands)
    return parser


# Any: as below.
def _add_identity_commands(commands: Any) -> None:
    shown = _bare_command(commands, "identity", "print whose disk this is, and its epochs")
    shown.add_argument("--output", choices=["text", "json"], default="text")
    adopt = _bare_command(commands, "adopt", "make this disk's messages those of a group")
    adopt.add_argument(
        "--group", required=True, metavar="UUID", help="gantrymq.dev/group-id of the group's Lease"
    )
    _bare_command(commands, "archive", "move the store aside, so that its member begins empty")


# Any: argparse does not name the type of what add_subparsers returns.
def _bare_command(commands: Any, name: str, about: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=about, allow_abbrev=False
    )
    command.add_argument("directory", type=Path, metavar="DIR")
    return command


def _command(commands: Any, name: str, about: str) -> argparse.ArgumentParser:
    command = _bare_command(commands, name, about)
    command.add_argument("-c", "--config-file", type=Path, metavar="FILE", help="broker.conf")
    command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    command.add_argument("--output", choices=["text", "json"], default="text")
    command.add_argument("--progress", action="store_true", help="tell on stderr how far it is")
    return command
