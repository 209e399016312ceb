"""Hosts on one bridge, each in a network namespace of its own; the bridge is in ours.

A cut is silent, as in a real network: frames are dropped, and neither end is notified. The bridge
port of a host can be blocked, two ports can be isolated from each other, or the frames in one
direction can be dropped while those in the other arrive.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Final, final

BRIDGE: Final = "hub"
PREFIX: Final = "10.210.0"
OURS: Final = f"{PREFIX}.254"
_DISABLED, _FORWARDING = "0", "3"
_NO_HOST: Final = "02:00:00:00:00:fe"


@final
class Host:
    """One of them."""

    def __init__(self, name: str, number: int) -> None:
        self.address = f"{PREFIX}.{number}"
        self.name = name
        self.port = f"to-{name}"
        """The port of the bridge to which this host is connected."""
        _ip("netns", "add", name)
        _ip("link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", self.port, "master", BRIDGE, "up")
        self.add_address(self.address)
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", name, "link", "set", "eth0", "up")

    def add_address(self, address: str) -> None:
        _ip("-n", self.name, "address", "add", f"{address}/24", "dev", "eth0")

    def command(self, *words: str) -> Sequence[str]:
        """The same, to be run on this host."""
        return ["ip", "netns", "exec", self.name, *words]


@final
class Network:
    """The bridge, and what of it is cut."""

    def __init__(self) -> None:
        _ip("link", "set", "lo", "up")
        _ip("link", "add", BRIDGE, "type", "bridge")
        _ip("address", "add", f"{OURS}/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        self._apart: tuple[Host, ...] = ()

    def cut(self, host: Host) -> None:
        """From all other hosts."""
        _port(host, "state", _DISABLED)

    def join(self, host: Host) -> None:
        _port(host, "state", _FORWARDING)

    def part(self, one: Host, other: Host) -> None:
        """These two do not reach each other; all other pairs do."""
        assert not self._apart, "isolated ports are isolated from all that are"
        self._apart = (one, other)
        for host in self._apart:
            _port(host, "isolated", "on")

    def unite(self) -> None:
        for host in self._apart:
            _port(host, "isolated", "off")
        self._apart = ()

    def mute(self, host: Host, towards: Host) -> None:
        """What the one sends the other is lost; what comes back is not."""
        where = (towards.address, "lladdr", _NO_HOST, "dev", "eth0", "nud", "permanent")
        _ip("-n", host.name, "neigh", "replace", *where)

    def unmute(self, host: Host, towards: Host) -> None:
        _ip("-n", host.name, "neigh", "del", towards.address, "dev", "eth0")


def _ip(*words: str) -> None:
    _run("ip", *words)


def _port(host: Host, what: str, value: str) -> None:
    _run("bridge", "link", "set", "dev", host.port, what, value)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
