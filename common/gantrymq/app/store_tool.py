"""Implements the command line of `gantry store`, for stores that no broker has open.

Exit codes: 0 the store is sound, or the command succeeded; 1 findings; 2 the command failed. The
commands are in store_commands.py and store_identity.py, which are imported only when they run.
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
DIR is storePathRootDir: the folder that holds commitlog, consumequeue and index. The sizes of
its files are detected; where that is impossible, give them by -c broker.conf or
--set mappedFileSizeCommitLog=... Exit codes: 0 sound, 1 findings, 2 the store cannot be read.
"""


def run(argv: list[str]) -> int:
    """Run one of the commands; return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        sys.stderr.write(f"{_PROGRAM} {arguments.command}: interrupted; run it again\n")
        return 130
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (GantryError, OSError) as error:
        sys.stderr.write(f"{_PROGRAM} {arguments.command}: {error}\n")
        return 2


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command in _OF_IDENTITY:
        from gantrymq.app import store_identity  # noqa: PLC0415 - keeps --help quick

        return store_identity.run_command(arguments)
    from gantrymq.app import store_commands  # noqa: PLC0415 - as above

    return store_commands.run_command(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Check, dump or repair a store of RocketMQ or Gantry that no broker has open.\n"
        "Decide about a disk that belongs to another group.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _command(commands, "check", "read everything, and report what does not agree")
    _command(commands, "stats", "count messages and bytes by topic and queue; list truncated tails")
    dump = _command(commands, "dump", "print messages, or lists of queues and index files")
    dump.add_argument("--topic", help="only messages of this topic")
    dump.add_argument(
        "--queue", type=int, metavar="ID", help="only messages of queues with this number"
    )
    dump.add_argument("--key", help="only messages with this key or unique key")
    dump.add_argument("--from", dest="first", type=int, default=0, metavar="POSITION")
    dump.add_argument("--to", dest="past", type=int, metavar="POSITION", help="exclusive")
    dump.add_argument("--limit", type=int, metavar="N", help="at most this many messages")
    dump.add_argument("--body", action="store_true", help="whole bodies, inflated")
    lists = dump.add_mutually_exclusive_group()
    lists.add_argument(
        "--tail", metavar="FILE", help="messages of this truncated tail; stats lists them"
    )
    lists.add_argument("--queues", action="store_true", help="list the queues instead")
    lists.add_argument("--index", action="store_true", help="list the index files instead")
    lists.add_argument(
        "--checkpoint", action="store_true", help="print checkpoint and flush positions"
    )
    repair = _command(commands, "repair", "print a plan of the repair, and with --yes carry it out")
    repair.add_argument(
        "--yes", action="store_true", help="carry out the plan; without it nothing is changed"
    )
    repair.add_argument(
        "--keep", choices=["older", "newer"], help="the side of a gap in the log that stays"
    )
    repair.add_argument(
        "--rebuild",
        choices=["queues", "index", "all"],
        help="rebuild these from the log, damaged or not",
    )
    _add_identity_commands(commands)
    return parser


# Any: as below.
def _add_identity_commands(commands: Any) -> None:
    shown = _bare_command(
        commands, "identity", "print the group and identity of this disk, and its epochs"
    )
    shown.add_argument("--output", choices=["text", "json"], default="text")
    adopt = _bare_command(commands, "adopt", "make the messages of this disk those of a group")
    adopt.add_argument(
        "--group", required=True, metavar="UUID", help="gantrymq.dev/group-id of the group's Lease"
    )
    _bare_command(commands, "archive", "move the store aside, so that its member starts empty")


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
    command.add_argument("--progress", action="store_true", help="show the progress on stderr")
    return command
