"""Checks brokers by their runtime figures.

Brokers do not report their clock; it is computed as boot timestamp plus uptime.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from gantrymq.client.core.admin.asking import Each
from gantrymq.client.core.admin.checkup.findings import Finding, Level

# Java's thresholds: above them a broker deletes files early, then refuses messages.
DISK_WARNING: Final = 0.75
DISK_ERROR: Final = 0.85

# Routing and delays tolerate this much; beyond it transactions and timestamps are misleading.
CLOCK_MS_MAX: Final = 5_000

# Consumers do not see messages that are not dispatched.
DISPATCH_BYTES_MAX: Final = 64 << 20

# Above this, brokers refuse messages with SYSTEM_BUSY.
LOCK_MS_MAX: Final = 1_000

_UPTIME: Final = re.compile(r"(\d+) days, (\d+) hours, (\d+) minutes, (\d+) seconds")
_LOOPBACK: Final = ("127.", "localhost:", "[::1]:")


def broker_findings(now_ms: int, figures: Each[dict[str, str]]) -> list[Finding]:
    """Return the findings about all brokers that the name servers list."""
    found = [
        Finding(
            Level.ERROR,
            f"broker {address}",
            f"cannot be reached from here: {failure}",
            "if it runs: set brokerIP1 to an address that its clients reach, and open its port",
        )
        for address, failure in figures.failed.items()
    ]
    for address, each in figures.done.items():
        found += _of_one(f"broker {address}", each, now_ms)
    if len(figures.done) + len(figures.failed) > 1:
        found += _loopbacks([*figures.done, *figures.failed])
    return found


def _of_one(subject: str, figures: Mapping[str, str], now_ms: int) -> Iterator[Finding]:
    used = _number(figures, "commitLogDiskRatio")
    if used >= DISK_WARNING:
        yield Finding(
            Level.ERROR if used >= DISK_ERROR else Level.WARNING,
            subject,
            f"its disk is {used:.0%} full",
            "a larger disk, or gantry updateBrokerConfig -k fileReservedTime -v <fewer hours>",
        )
    behind = _number(figures, "dispatchBehindBytes")
    if behind > DISPATCH_BYTES_MAX:
        yield Finding(
            Level.WARNING,
            subject,
            f"{behind / (1 << 20):.0f} MiB of messages are stored but not yet seen by consumers",
            "let its disk rest (gantry brokerStatus shows the load), or wait after a restart",
        )
    locked_ms = _number(figures, "pageCacheLockTimeMills")
    if locked_ms > LOCK_MS_MAX:
        yield Finding(
            Level.WARNING,
            subject,
            f"a message has been waiting for the disk for {locked_ms:.0f} ms",
            "a faster disk, or fewer other users of it",
        )
    apart_ms = _clock_difference(figures, now_ms)
    if abs(apart_ms) > CLOCK_MS_MAX:
        yield Finding(
            Level.WARNING,
            subject,
            f"its clock and that of this machine are {abs(apart_ms) / 1000:.0f} s apart",
            "let both follow NTP",
        )


def _clock_difference(figures: Mapping[str, str], now_ms: int) -> int:
    uptime = _UPTIME.search(figures.get("runtime", ""))
    began_ms = _number(figures, "bootTimestamp")
    if uptime is None or not began_ms:
        return 0
    days, hours, minutes, seconds = map(int, uptime.groups())
    lasted_s = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return int(began_ms) + lasted_s * 1000 - now_ms


def _number(figures: Mapping[str, str], name: str) -> float:
    try:
        return float(figures.get(name) or 0)
    except ValueError:
        return 0.0


def _loopbacks(addresses: list[str]) -> list[Finding]:
    """Find loopback addresses, which lead each client to its own machine. They are correct if all
    brokers have one, because then the cluster runs on this machine."""
    local = [address for address in addresses if address.startswith(_LOOPBACK)]
    if len(local) == len(addresses):
        return []
    return [
        Finding(
            Level.ERROR,
            f"broker {address}",
            "is registered with an address that leads each client to itself",
            "set its brokerIP1 to an address that its clients reach",
        )
        for address in local
    ]
