"""Implements `gantry broker`, the command that starts a broker."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gantrymq.base.configuration.settings import format_settings
from gantrymq.base.errors import ConfigurationError, GantryError

if TYPE_CHECKING:
    from gantrymq.broker.configuration import Setup
    from gantrymq.runtime.process import Process

_EPILOG: Final = """\
Every setting can be given in the -c file (key=value), as the environment variable GANTRY_<KEY>
(GANTRY_LISTEN_PORT for listenPort), or with --set; the later one wins. -p shows them all.
"""
# What RocketMQ's -m prints: the settings that users look for first.
_IMPORTANT: Final = (
    "namesrvAddr", "brokerIP1", "brokerName", "brokerClusterName", "brokerId",
    "autoCreateTopicEnable", "autoCreateSubscriptionGroup", "listenPort",
    "storePathRootDir", "deleteWhen", "fileReservedTime", "brokerRole", "flushDiskType",
)  # fmt: skip


def run(argv: list[str]) -> int:
    """Run a broker until it is told to stop; returns the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        setup = _load(arguments)
    except ConfigurationError as error:
        sys.stderr.write(f"gantry broker: {error}\n")
        return 78
    if arguments.print_config or arguments.print_important:
        _print(setup, only_important=not arguments.print_config)
        return 0
    from gantrymq.runtime import logs, process  # noqa: PLC0415 - --help need not wait for it

    logs.configure(arguments.log_level, form=arguments.log_format)
    broker = partial(process.run, partial(_serve, setup))
    if not arguments.guarded:
        return broker()
    from gantrymq.broker import supervisor  # noqa: PLC0415

    return supervisor.run(setup, broker)


def _print(setup: Setup, *, only_important: bool) -> None:
    for warning in setup.warnings:
        sys.stderr.write(f"gantry broker: {warning}\n")
    for line in (format_settings(setup.settings) + format_settings(setup.store)).splitlines(True):
        if not only_important or line.partition("=")[0] in _IMPORTANT:
            sys.stdout.write(line)


async def _serve(setup: Setup, process: Process) -> None:
    """Run the broker. A member of a group may have to restart to truncate its log: it restarts
    here, within the same process."""
    while await _serve_once(setup, process):
        pass


async def _serve_once(setup: Setup, process: Process) -> bool:
    """Returns whether the broker has to be started again."""
    from gantrymq.broker.server import BrokerHost  # noqa: PLC0415 - as above
    from gantrymq.broker.store_opening import StoppedError  # noqa: PLC0415 - so that --help is quick

    try:
        host = BrokerHost(setup)
        await host.start(lambda: process.is_stopping)
    except StoppedError:
        return False
    except GantryError as error:
        raise ConfigurationError(str(error)) from error
    identity = setup.identity
    servers = setup.settings.namesrv_addr
    known = f" and name server is {servers}" if servers else ""
    sys.stdout.write(
        f"The broker[{identity.name}, {identity.address}] boot success. serializeType=JSON{known}\n"
    )
    sys.stdout.flush()
    asked = asyncio.ensure_future(process.stop_requested())
    ends: set[asyncio.Future[None] | asyncio.Future[str]] = {asked, host.failed}
    if host.restart is not None:
        ends.add(host.restart)
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    await host.stop()
    if host.failed.done():
        host.failed.result()
    return not process.is_stopping


def _load(arguments: argparse.Namespace) -> Setup:
    from gantrymq.broker.configuration import load  # noqa: PLC0415

    flags: dict[str, str] = {}
    if arguments.namesrv_addr is not None:
        flags["namesrvAddr"] = arguments.namesrv_addr
    for item in arguments.set:
        key, separator, value = item.partition("=")
        if not separator:
            raise ConfigurationError(f"--set {item}: write KEY=VALUE, as in --set listenPort=10911")
        flags[key.strip()] = value
    if arguments.secure_defaults:
        flags["secureDefaults"] = "true"
    return load(arguments.config_file, os.environ, flags, arguments.data)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gantry broker",
        description="Start a broker; RocketMQ clients find it through its name servers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "-c", "--config-file", "--configFile", type=Path, metavar="FILE", help="properties file"
    )
    parser.add_argument(
        "-n", "--namesrv-addr", "--namesrvAddr", metavar="ADDRESS",
        help="name servers, address:port, ;-separated",
    )  # fmt: skip
    parser.add_argument(
        "-p", "--print-config", "--printConfigItem", action="store_true",
        help="print the settings in force and exit",
    )  # fmt: skip
    parser.add_argument(
        "-m", "--print-important", "--printImportantConfig", action="store_true",
        help="print the most important of them and exit",
    )  # fmt: skip
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="where the store is, unless settings say"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; may be repeated"
    )
    parser.add_argument(
        "--guarded", action="store_true",
        help="wait for the broker in a second process, and give its lease away when it is killed",
    )  # fmt: skip
    _add_process_options(parser)
    return parser


def _add_process_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the process, which are not settings of the broker."""
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
