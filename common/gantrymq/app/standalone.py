"""Implements `gantry standalone`: all servers in one process and on one event loop.

The broker registers with the name server over loopback, as any broker does. Invariant: the name
server starts before the broker and stops after it, so the broker can always register and
unregister.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.errors import ConfigurationError, GantryError

if TYPE_CHECKING:
    from gantrymq.app.standalone_setup import StandaloneSetup
    from gantrymq.broker.server import BrokerHost
    from gantrymq.metrics.samples import Source
    from gantrymq.runtime.http.health import HealthServer
    from gantrymq.runtime.process import Process

_EPILOG: Final = """\
These flags can also be environment variables: GANTRY_DATA, GANTRY_BIND, GANTRY_NAMESRV_PORT,
GANTRY_BROKER_PORT, GANTRY_METRICS_PORT, GANTRY_CONSOLE_PORT. All other settings are the broker's;
--set overrides GANTRY_<KEY>, which overrides the -c file. --sample-config shows them.
"""


def run(argv: list[str]) -> int:
    """Run all servers until the process gets a signal to stop; return the exit code."""
    arguments = _parser(os.environ).parse_args(argv)
    try:
        if arguments.sample_config is not None:
            return _write_sample(arguments.sample_config)
        setup = _load(arguments)
    except ConfigurationError as error:
        sys.stderr.write(_told(error))
        return 78
    from gantrymq.runtime import logs, process  # noqa: PLC0415 - keeps --help quick

    logs.configure(arguments.log_level, form=arguments.log_format)
    return process.run(partial(_serve, setup))


async def _serve(setup: StandaloneSetup, process: Process) -> None:
    from gantrymq.app.standalone_text import announcement  # noqa: PLC0415 - as above
    from gantrymq.namesrv import metrics  # noqa: PLC0415 - as above
    from gantrymq.namesrv.server import NameServerHost  # noqa: PLC0415 - as above

    names = NameServerHost(setup.names)
    await names.start()
    try:
        broker = await _start_broker(setup, partial(metrics.samples, names.core))
        try:
            console = await _start_console(setup)
            sys.stdout.write(announcement(setup, _seconds_since_start()))
            sys.stdout.flush()
            asked = asyncio.ensure_future(process.stop_requested())
            await asyncio.wait({asked, broker.failed}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            if console is not None:
                await console.stop()
        finally:
            await broker.stop()
    finally:
        await names.stop()
    if broker.failed.done():
        broker.failed.result()
    sys.stdout.write("Gantry has stopped; everything it acknowledged is on disk.\n")


async def _start_broker(setup: StandaloneSetup, of_names: Source) -> BrokerHost:
    from gantrymq.app.standalone_setup import in_use  # noqa: PLC0415 - as above
    from gantrymq.broker.server import BrokerHost  # noqa: PLC0415 - as above

    host = BrokerHost(setup.broker, is_alone=True)
    host.show(of_names)
    try:
        await host.start()
    except DiskError as error:
        is_locked = error.failure is DiskFailure.LOCKED
        raise ConfigurationError(in_use(setup) if is_locked else str(error)) from error
    except GantryError as error:
        raise ConfigurationError(str(error)) from error
    return host


async def _start_console(setup: StandaloneSetup) -> HealthServer | None:
    """Start the placeholder page of the console; None if its port is 0."""
    from gantrymq.app.standalone_text import console_page  # noqa: PLC0415 - as above
    from gantrymq.runtime.http.health import HTML, HealthServer, Readiness  # noqa: PLC0415 - as above
    from gantrymq.runtime.http.metrics import Metrics  # noqa: PLC0415 - as above

    place = setup.listen_address("console")
    if place is None:
        return None
    page = partial(console_page, setup)
    console = HealthServer(Metrics(), Readiness(), {"/": page}, page_type=HTML)
    await console.start(place.host, place.port)
    return console


def _seconds_since_start() -> float:
    """The seconds since the process started, including the time to load the program."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    began = ticks / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began


def _load(arguments: argparse.Namespace) -> StandaloneSetup:
    from gantrymq.app import standalone_setup  # noqa: PLC0415 - keeps --help quick

    flags: dict[str, str] = {}
    for item in arguments.set:
        key, separator, value = item.partition("=")
        if not separator:
            raise ConfigurationError(f"--set {item}: write KEY=VALUE, as in --set brokerName=a")
        flags[key.strip()] = value
    said = {
        "bindAddress": arguments.bind,
        "listenPort": arguments.broker_port,
        "metricsPort": arguments.metrics_port,
    }
    flags |= {key: str(value) for key, value in said.items() if value is not None}
    options = standalone_setup.StandaloneOptions(
        (arguments.data or _default_data(os.environ)).absolute(),
        arguments.config_file,
        flags,
        arguments.namesrv_port,
        arguments.console_port,
    )
    setup = standalone_setup.load(options, os.environ)
    standalone_setup.must_be_possible(setup)
    return setup


def _default_data(environment: Mapping[str, str]) -> Path:
    """The data folder by the XDG rules: below the state folder of this user."""
    said = environment.get("XDG_STATE_HOME", "")
    try:
        return (Path(said) if said else Path.home() / ".local" / "state") / "gantry"
    except RuntimeError as error:
        raise ConfigurationError(
            "this user has no home folder for the data; set HOME, or give --data FOLDER"
        ) from error


def _write_sample(path: Path) -> int:
    from gantrymq.app.sample_config import sample  # noqa: PLC0415 - keeps --help quick
    from gantrymq.app.standalone_setup import DEFAULTS  # noqa: PLC0415 - as above

    text = sample(DEFAULTS)
    if str(path) == "-":
        sys.stdout.write(text)
        return 0
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigurationError(
            f"{path} exists already; move it away, or name another file"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
    sys.stdout.write(f"{path} has been written; edit it, then run: gantry standalone -c {path}\n")
    return 0


def _told(error: ConfigurationError) -> str:
    return "".join(f"gantry standalone: {line}\n" for line in str(error).splitlines())


# Name of the flag, lowest port, default, description.
_PORTS: Final = (
    ("namesrv", 1, "9876", "of the name server, to which clients connect; default 9876"),
    ("broker", 3, None, "of the broker, the fast port is two below; default 10911"),
    ("metrics", 0, None, "of health and metrics; default 5557, 0 for none"),
    ("console", 0, "8080", "of the console; default 8080, 0 for none"),
)


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gantry standalone",
        description="Start name server, broker, metrics and console in one process.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--data", type=Path, default=environment.get("GANTRY_DATA"), metavar="FOLDER",
        help="the data folder; default: gantry in XDG_STATE_HOME, or in ~/.local/state",
    )  # fmt: skip
    parser.add_argument(
        "--bind", default=environment.get("GANTRY_BIND"), metavar="ADDRESS",
        help="the listen address of all servers; default 127.0.0.1, 0.0.0.0 for every address",
    )  # fmt: skip
    for name, lowest, default, about in _PORTS:
        parser.add_argument(
            f"--{name}-port", type=partial(_port, lowest), metavar="PORT", help="port " + about,
            default=environment.get(f"GANTRY_{name.upper()}_PORT", default),
        )  # fmt: skip
    parser.add_argument(
        "-c", "--config-file", "--configFile", type=Path, metavar="FILE", help="a broker.conf"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE",
        help="a setting of the broker; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--sample-config", nargs="?", type=Path, const=Path("-"), metavar="FILE",
        help="write a commented configuration and exit",
    )  # fmt: skip
    parser.add_argument(
        "--log-level", default="WARNING", choices=["DEBUG", "INFO", "WARNING", "ERROR"]
    )
    parser.add_argument(
        "--log-format", default=environment.get("GANTRY_LOG_FORMAT", "console"),
        choices=["console", "json"], help="the format of log lines; also GANTRY_LOG_FORMAT",
    )  # fmt: skip
    return parser


def _port(lowest: int, text: str) -> int:
    if not text.isdecimal() or not lowest <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port from {lowest} to 65535")
    return int(text)
