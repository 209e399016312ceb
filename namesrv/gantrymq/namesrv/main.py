"""Provides the command line of the name server, `gantry namesrv`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gantrymq.base.configuration.settings import format_settings
from gantrymq.base.errors import ConfigurationError

if TYPE_CHECKING:
    from gantrymq.namesrv.configuration import Setup
    from gantrymq.runtime.process import Process

_EPILOG: Final = """\
Every setting can be given in the -c file (key=value), as the environment variable GANTRY_<KEY>
(GANTRY_LISTEN_PORT for listenPort), or with --set; the later one wins. -p shows them all.
"""


def run(argv: list[str]) -> int:
    """Run a name server until it is told to stop; returns the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        setup = _load(arguments)
    except ConfigurationError as error:
        sys.stderr.write(f"gantry namesrv: {error}\n")
        return 78
    if arguments.print_config:
        for warning in setup.warnings:
            sys.stderr.write(f"gantry namesrv: {warning}\n")
        sys.stdout.write(format_settings(setup.settings))
        return 0
    from gantrymq.runtime import logs, process  # noqa: PLC0415 - keeps --help fast

    logs.configure(arguments.log_level, form=arguments.log_format)
    return process.run(partial(_serve, setup))


async def _serve(setup: Setup, process: Process) -> None:
    from gantrymq.namesrv.server import NameServerHost  # noqa: PLC0415 - keeps --help fast

    host = NameServerHost(setup)
    await host.start()
    address, port = next(iter(host.addresses.values()))
    shown = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    sys.stdout.write(f"The Name Server boot success. serializeType=JSON, address {shown}\n")
    sys.stdout.flush()
    await process.stop_requested()
    await host.stop()


def _load(arguments: argparse.Namespace) -> Setup:
    from gantrymq.namesrv.configuration import load  # noqa: PLC0415

    flags: dict[str, str] = {}
    for item in arguments.set:
        key, separator, value = item.partition("=")
        if not separator:
            raise ConfigurationError(f"--set {item}: write KEY=VALUE, as in --set listenPort=9876")
        flags[key.strip()] = value
    if arguments.secure_defaults:
        flags["secureDefaults"] = "true"
    environment: Mapping[str, str] = os.environ
    return load(arguments.config_file, environment, flags)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gantry namesrv",
        description="Start a name server; RocketMQ clients and brokers find it on port 9876.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "-c", "--config-file", "--configFile", type=Path, metavar="FILE", help="properties file"
    )
    parser.add_argument(
        "-p", "--print-config", "--printConfigItem", action="store_true",
        help="print the settings in force and exit",
    )  # fmt: skip
    parser.add_argument(
        "-n", "--namesrv-addr", "--namesrvAddr", metavar="ADDRESS",
        help="accepted as RocketMQ's scripts pass it; has no effect",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; may be repeated"
    )
    parser.add_argument(
        "--secure-defaults", action="store_true",
        help="start only with TLS, access control and all else that protects it; the same as"
        " --set secureDefaults=true",
    )  # fmt: skip
    parser.add_argument(
        "--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"]
    )
    parser.add_argument(
        "--log-format", default=os.environ.get("GANTRY_LOG_FORMAT", "console"),
        choices=["console", "json"], help="of log lines; GANTRY_LOG_FORMAT says the same",
    )  # fmt: skip
    return parser
