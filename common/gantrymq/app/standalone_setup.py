"""What a standalone start consists of: a name server's setup and a broker's, made for each other.

    DIR/namesrv            the name server's files
    DIR/store              the broker's store, which a Java broker opens too
    DIR/store/gantry       what only Gantry reads

Both listen where the broker's settings say, on loopback unless they do, and by TLS as they say; the
broker knows this name server and no other. A `-c` file and the environment are the broker's:
RocketMQ's file works, but that topics are created by their first message unless it says otherwise.
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

# RocketMQ's fast port.
_FAST_DISTANCE: Final = 2


@dataclass(frozen=True, slots=True)
class StandaloneOptions:
    """What was said about this start; None and empty where nothing was."""

    data: Path
    config_file: Path | None = None
    flags: Mapping[str, str] | None = None
    """By the broker's keys."""
    name_server_port: int = NAME_SERVER_PORT
    console_port: int = CONSOLE_PORT


@dataclass(frozen=True, slots=True)
class Place:
    """A port that will be listened on, and the flag that changes it."""

    what: str
    host: str
    port: int
    flag: str

    @property
    def address(self) -> str:
        """As those on this machine reach it."""
        return _with_port(_reachable(self.host), self.port)


@dataclass(frozen=True, slots=True)
class StandaloneSetup:
    """All that is known before the start."""

    data: Path
    names: NameServerSetup
    broker: BrokerSetup
    console_port: int

    @property
    def places(self) -> list[Place]:
        """Every port, in the order in which they are shown; 0 is none."""
        broker = self.broker.settings
        host, port = broker.bind_address, broker.listen_port
        fast = port - _FAST_DISTANCE
        every = (
            Place("name server", host, self.names.settings.listen_port, "--namesrv-port"),
            Place("broker", host, port, "--broker-port"),
            Place("broker, fast port", host, fast, "--broker-port (two above it)"),
            Place("metrics", broker.metrics_bind_address, broker.metrics_port, "--metrics-port"),
            Place("console", host, self.console_port, "--console-port"),
        )
        return [place for place in every if place.port > 0]

    def place(self, what: str) -> Place | None:
        """The one of this name, where it is wanted."""
        return next((place for place in self.places if place.what == what), None)


def load(options: StandaloneOptions, environment: Mapping[str, str]) -> StandaloneSetup:
    """Make the data folder, and read what is said; ConfigurationError tells everything that cannot
    be used."""
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
            "groupMembers: a standalone broker is alone; start each member with `gantry broker`"
        )
    if broker.settings.secure_defaults:
        raise ConfigurationError(
            "secureDefaults: a standalone start is for development, and its name server has no"
            " access control; start `gantry namesrv` and `gantry broker` with it"
        )
    if broker.settings.listen_port <= _FAST_DISTANCE:
        raise ConfigurationError(
            f"listenPort={broker.settings.listen_port}: clients are told this port, and the fast"
            " one is two below it; give one with --broker-port"
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
    """Raises ConfigurationError that tells every port that cannot be used, by whom it is taken, and
    what to do; or what is wrong with the store's folder."""
    must_be_writable(setup.broker.root)
    if faults := list(_port_faults(setup.places)):
        raise ConfigurationError("\n".join(faults))


def in_use(setup: StandaloneSetup) -> str:
    """What to say of a store that somebody else has locked."""
    lock = str(setup.broker.root.resolve() / LOCK)
    own = f"(process {os.getpid()})"
    holders = [each for each in processes_with({lock}) if not each.endswith(own)]
    whom = ", ".join(holders) or "another process"
    return (
        f"the data folder {setup.data} is in use by {whom}; stop that one, or give this one a"
        " folder of its own: --data FOLDER"
    )


def must_be_writable(folder: Path) -> None:
    """Makes it where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        cause = None if os.access(folder, os.W_OK | os.X_OK) else "no permission"
    except OSError as error:
        cause = error.strerror or str(error)
    if cause is not None:
        raise ConfigurationError(
            f"the data folder cannot be written: {folder}: {cause}; give one that can:"
            " --data FOLDER"
        )


def _port_faults(places: list[Place]) -> Iterator[str]:
    known: dict[int, Place] = {}
    for place in places:
        other = known.setdefault(place.port, place)
        if other is not place:
            yield (
                f"port {place.port} would be that of the {other.what} and of the {place.what};"
                f" change one: {other.flag}, {place.flag}"
            )
        elif (why := why_taken(place.host, place.port)) is not None:
            yield (
                f"{place.what}: cannot listen on {_with_port(place.host, place.port)}: {why};"
                f" choose another with {place.flag}, or where to listen with --bind"
            )


def _is_any(host: str) -> bool:
    """Whether it stands for every address of this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def _reachable(host: str) -> str:
    """By which this machine reaches what is bound there."""
    if not _is_any(host):
        return host.strip("[]")
    return "::1" if ":" in host else "127.0.0.1"


def _with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"
