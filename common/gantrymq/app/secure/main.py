"""Implements the command line of `gantry secure`."""

from __future__ import annotations

import argparse
import datetime
import socket
import sys
from pathlib import Path
from typing import Final

from gantrymq.base.errors import ConfigurationError

_EPILOG: Final = """\
gantry secure init DIR                          an authority, a certificate, an account, secrets
gantry secure certificate DIR NAME --host HOST  one more certificate of that authority
"""
_STARTED: Final = """\
{folder} has what protected servers need. Start the servers with

    gantry namesrv -c {folder}/namesrv.conf
    gantry broker -c {folder}/broker.conf

and query them as their administrator with

    ROCKETMQ_HOME={folder} gantry clusterList -n 127.0.0.1:9876 --tls {folder}/tls.properties

Keep ca-key.pem elsewhere: it signs certificates that every client and server here trusts.
"""


def run(argv: list[str]) -> int:
    """Run the command that the arguments name; return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.what == "init":
            return _init(arguments)
        return _certificate(arguments)
    except ConfigurationError as error:
        sys.stderr.write(f"gantry secure: {error}\n")
        return 78


def _init(arguments: argparse.Namespace) -> int:
    from gantrymq.app.secure import folder  # noqa: PLC0415 - --help need not load cryptography

    hosts = [*arguments.host, socket.gethostname(), "localhost", "127.0.0.1", "::1"]
    folder.make(arguments.folder, list(dict.fromkeys(hosts)), _now())
    sys.stdout.write(_STARTED.format(folder=arguments.folder.absolute()))
    return 0


def _certificate(arguments: argparse.Namespace) -> int:
    from gantrymq.app.secure import folder  # noqa: PLC0415 - as above

    certificate, key = folder.add_certificate(
        arguments.folder, arguments.name, arguments.host, arguments.days, _now()
    )
    sys.stdout.write(f"{certificate}\n{key}\n")
    return 0


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gantry secure",
        description="Create what servers with secureDefaults=true need, for trials and small"
        " installations.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    hosts = "a name or address by which clients reach the server; may be repeated"
    init = commands.add_parser("init", help="create a folder with all of it", allow_abbrev=False)
    init.add_argument("folder", type=Path, metavar="DIR", help="a new folder")
    init.add_argument("--host", action="append", default=[], metavar="HOST", help=hosts)
    one = commands.add_parser("certificate", help="sign one more certificate", allow_abbrev=False)
    one.add_argument("folder", type=Path, metavar="DIR", help="the folder of the authority")
    one.add_argument("name", metavar="NAME", help="of the files, and in the certificate")
    one.add_argument("--host", action="append", default=[], metavar="HOST", help=hosts)
    one.add_argument(
        "--days", type=_days, default=825, metavar="DAYS", help="until it expires; 825"
    )
    return parser


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 3650:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of days from 1 to 3650")
    return int(text)
