"""Parses command lines with argparse: the options of a command, and those of all commands."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.option import Option, Options
from gantrymq.cli.frame.stream_command import StreamCommand

TIMEOUT_S: Final = 5.0
_TIMEOUT: Final = "timeout"
NAME_SERVERS_VARIABLE: Final = "NAMESRV_ADDR"
_EPILOG: Final = """\
Exit codes: 0 done; 1 refused, failed or done in part; 2 wrong usage; 130 Ctrl-C; 143 SIGTERM.
-n may be left out if NAMESRV_ADDR is set. The keys of access control are in GANTRY_ACCESS_KEY and
GANTRY_SECRET_KEY, or in $ROCKETMQ_HOME/conf/tools.yml.
"""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A parsed command line."""

    name: str
    options: Options
    name_servers: str
    form: str
    """The value of --output: json, or another format of the command."""
    watch_s: float
    timeout_s: float
    tls: str | None

    @property
    def is_json(self) -> bool:
        return self.form == "json"


class _Parser(argparse.ArgumentParser):
    """Raises UsageError, where argparse would print the whole usage and exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def parse(command: Command | StreamCommand, about: str, words: Sequence[str]) -> CommandLine | int:
    """Parse the words; return an exit code if they asked for help. Raises UsageError."""
    try:
        values = vars(parser(command, about).parse_args(words))
    except SystemExit as ended:
        return int(ended.code or 0)
    return CommandLine(
        command.name,
        Options(values),
        values["namesrvAddr"] or os.environ.get(NAME_SERVERS_VARIABLE, ""),
        values["output"],
        values.get("watch", 0.0),
        TIMEOUT_S if isinstance(values[_TIMEOUT], str | None) else values[_TIMEOUT],
        values["tls"],
    )


def parser(command: Command | StreamCommand, about: str) -> argparse.ArgumentParser:
    made = _Parser(
        prog=f"gantry {command.name}",
        description=about,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for option in command.options:
        _add(made, option)
    common = made.add_argument_group("common options")
    common.add_argument("-n", "--namesrvAddr", metavar="HOST:PORT;...", help="name servers")
    forms = command.forms
    common.add_argument("--output", choices=forms, default=forms[0], help=f"({forms[0]})")
    if isinstance(command, Command):
        about_watch = "run again every S seconds, until Ctrl-C"
        common.add_argument("--watch", type=_above_zero, default=0.0, metavar="S", help=about_watch)
    if not any(option.name == _TIMEOUT for option in command.options):
        common.add_argument(
            "--timeout",
            type=_above_zero,
            default=TIMEOUT_S,
            metavar="S",
            help="seconds to wait for each answer (5)",
        )
    common.add_argument(
        "--tls", nargs="?", const="", metavar="FILE", help="use TLS; FILE is a tls.properties"
    )
    return made


def _add(made: argparse.ArgumentParser, option: Option) -> None:
    spellings = [f"-{option.letter}", f"--{option.name}"] if option.letter else [f"--{option.name}"]
    if option.is_flag:
        made.add_argument(*spellings, dest=option.name, action="store_true", help=option.about)
    elif option.is_positional:
        made.add_argument(
            option.name,
            nargs="*" if option.is_repeated else None,
            choices=option.choices or None,
            metavar=None if option.choices else option.name.upper(),
            help=option.about,
        )
    else:
        made.add_argument(
            *spellings,
            dest=option.name,
            action="append" if option.is_repeated else "store",
            required=option.is_required,
            metavar="VALUE",
            help=option.about,
        )


def _above_zero(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
