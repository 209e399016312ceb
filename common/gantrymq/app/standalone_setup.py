"""Builds the setup of a standalone start: a name server and a broker that know each other.

    DIR/namesrv            the name server's files
    DIR/store              the broker's store, which a Java broker opens too
    DIR/store/gantry       what only Gantry reads

Both servers listen on the address and with the TLS settings of the broker, on loopback by default.
The broker registers with this name server only. A `-c` file and the environment configure the
broker. A broker.conf of RocketMQ works; only autoCreateTopicEnable is true by default here.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gantrymq.app.taken_ports import processes_with, why_taken
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import Setup as BrokerSetup
from gantrymq.broker.configuration import load as load_broker
from gantrymq.namesrv.configuration import Setup as NameServerSetup
from gantrymq.namesrv.configuration import load as load_name_server
from gantrymq.store.layout import LOCK

DEFAULTS: Final = {
    "autoCreateTopicEnable": "true",
    "bindAddress": "127.0.0.1",
    "brokerName": "broker-a",
}
NAME_SERVER_PORT: Final = 9876
CONSOLE_PORT: Final = 8080

# The fast port (VIP channel) of RocketMQ is two below the broker's.
_FAST_DISTANCE: Final = 2


@dataclass(frozen=True, slots=True)
class StandaloneOptions:
    """The options of the command line; None where an option was not given."""

    data: Path
    config_file: Path | None = None
    flags: Mapping[str, str] | None = None
    """Values by the broker's keys."""
    name_server_port: int = NAME_SERVER_PORT
    console_port: int = CONSOLE_PORT


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """An address on which a server will listen, and the flag that changes its port."""

    what: str
    host: str
    port: int
    flag: str

    @property
    def address(self) -> str:
        """The address by which this machine reaches the server."""
        return _with_port(_reachable(self.host), self.port)


@dataclass(frozen=True, slots=True)
class StandaloneSetup:
    """The setup of all servers, complete before the first of them starts."""

    data: Path
    names: NameServerSetup
    broker: BrokerSetup
    console_port: int

    @property
    def listen_addresses(self) -> list[ListenAddress]:
        """The addresses of all servers, in the order in which they are shown. Port 0 means none."""
        broker = self.broker.settings
        host, port = broker.bind_address, broker.listen_port
        fast = port - _FAST_DISTANCE
        every = (
            ListenAddress("name server", host, self.names.settings.listen_port, "--namesrv-port"),
            ListenAddress("broker", host, port, "--broker-port"),
            ListenAddress("broker, fast port", host, fast, "--broker-port (two above it)"),
            ListenAddress(
                "metrics", broker.metrics_bind_address, broker.metrics_port, "--metrics-port"
            ),
            ListenAddress("console", host, self.console_port, "--console-port"),
        )
        return [each for each in every if each.port > 0]

    def listen_address(self, what: str) -> ListenAddress | None:
        """The address of the server with this name; None if the server is disabled."""
        return next((each for each in self.listen_addresses if each.what == what), None)


def load(options: StandaloneOptions, environment: Mapping[str, str]) -> StandaloneSetup:
    """Create the data folder and read all settings; ConfigurationError names every setting that
    cannot be used."""
    must_be_writable(options.data / "namesrv")
    flags = dict(options.flags or {})
    first = load_broker(options.config_file, environment, flags, options.data, DEFAULTS)
    host = first.settings.bind_address
    known = _with_port(_reachable(host), options.name_server_port)
    defaults = dict(DEFAULTS)
    if not _is_any(host):
        defaults["brokerIP1"] = host.strip("[]")
    flags["namesrvAddr"] = known
    broker = load_broker(options.config_file, environment, flags, options.data, defaults)
    if broker.group is not None:
        raise ConfigurationError(
            "groupMembers: a standalone broker has no group; start each member with `gantry broker`"
        )
    if broker.settings.secure_defaults:
        raise ConfigurationError(
            "secureDefaults: a standalone start is for development, and its name server has no"
            " access control; use secureDefaults with `gantry namesrv` and `gantry broker`"
        )
    if broker.settings.listen_port <= _FAST_DISTANCE:
        raise ConfigurationError(
            f"listenPort={broker.settings.listen_port}: clients connect to this port, and"
            " the fast port is two below it; choose a higher port with --broker-port"
        )
    of_names = {
        "bindAddress": host,
        "listenPort": str(options.name_server_port),
        "metricsPort": "0",
        "kvConfigPath": str(options.data / "namesrv" / "kvConfig.json"),
    }
    names = load_name_server(None, {}, of_names, options.data)
    names = replace(names, tls=broker.tls, client_tls=broker.client_tls)
    return StandaloneSetup(options.data, names, broker, options.console_port)


def must_be_possible(setup: StandaloneSetup) -> None:
    """Check ports and folder. ConfigurationError names every port that cannot be used, the process
    that uses it and the flag that changes it, or what is wrong with the store's folder."""
    must_be_writable(setup.broker.root)
    if faults := list(_port_faults(setup.listen_addresses)):
        raise ConfigurationError("\n".join(faults))


def in_use(setup: StandaloneSetup) -> str:
    """The error text for a store that another process has locked."""
    lock = str(setup.broker.root.resolve() / LOCK)
    own = f"(process {os.getpid()})"
    holders = [each for each in processes_with({lock}) if not each.endswith(own)]
    process = ", ".join(holders) or "another process"
    return (
        f"the data folder {setup.data} is in use by {process}; stop that process, or"
        " give this one another folder with --data FOLDER"
    )


def must_be_writable(folder: Path) -> None:
    """Create the folder if it is missing; ConfigurationError if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        cause = None if os.access(folder, os.W_OK | os.X_OK) else "no permission"
    except OSError as error:
        cause = error.strerror or str(error)
    if cause is not None:
        raise ConfigurationError(
            f"the data folder cannot be written: {folder}: {cause}; choose a writable"
            " folder with --data FOLDER"
        )


def _port_faults(addresses: list[ListenAddress]) -> Iterator[str]:
    known: dict[int, ListenAddress] = {}
    for place in addresses:
        other = known.setdefault(place.port, place)
        if other is not place:
            yield (
                f"port {place.port} is set for the {other.what} and for the {place.what};"
                f" change one of them: {other.flag}, {place.flag}"
            )
        elif (why := why_taken(place.host, place.port)) is not None:
            yield (
                f"{place.what}: cannot listen on {_with_port(place.host, place.port)}: {why};"
                f" choose another port with {place.flag}, or another address with --bind"
            )


def _is_any(host: str) -> bool:
    """Whether the host means every address of this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def _reachable(host: str) -> str:
    """The host by which this machine reaches a server that listens on `host`."""
    if not _is_any(host):
        return host.strip("[]")
    return "::1" if ":" in host else "127.0.0.1"


def _with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"
