"""The process that waits for a broker, and gives its lease away once it is dead.

A master that was killed cannot do that itself, nor one whose time to hand over was too short, and
the others of its group would wait for as long as the lease lasts. Whoever has reaped the broker
knows that it acknowledges nothing any more: so they need not, whatever it ended with. In a
container this is process 1; `gantry broker --guarded` starts it.

Invariant: nothing is given away while the broker that has it may live: neither the one that was
reaped here, nor one that was started since, which the store's lock keeps out meanwhile, and another
address where it has another disk. When this process dies the kernel kills the broker, for nobody
would know of its end.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.base.errors import ConfigurationError
from gantrymq.ha import identity
from gantrymq.ha.identity import Identity
from gantrymq.ha.lease import (
    DURATION_SECONDS,
    NOBODY,
    Found,
    Lease,
    LeaseAnswer,
    Missing,
    Written,
)
from gantrymq.runtime.clock import SYSTEM_CLOCK
from gantrymq.runtime.disk import FolderDisk
from gantrymq.runtime.process import ExitCode
from gantrymq.store.layout import LOCK, StoreRefusedError

if TYPE_CHECKING:
    from gantrymq.base.disk import Disk
    from gantrymq.broker.configuration import Setup

AGAIN_SECONDS: Final = 0.1

_FORWARDED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG: Final = 1


def run(setup: Setup, broker: Callable[[], int]) -> int:
    """Run `broker` in a process of its own; its exit code, as a shell says it. One whose roles are
    fixed has no lease, and needs no guard."""
    if setup.group is None:
        return broker()
    guard = os.getpid()
    child = os.fork()
    if not child:
        _die_with(guard)
        return broker()

    def forward(which: int, _: object) -> None:
        with suppress(ProcessLookupError):  # it was reaped a moment ago
            os.kill(child, which)

    for number in _FORWARDED:
        signal.signal(number, forward)
    code = _reaped(child)
    for number in _FORWARDED:
        signal.signal(number, signal.SIG_DFL)  # nobody is there to forward it to
    if code != ExitCode.OK:
        sys.stderr.write(f"gantry broker: the broker ended with {code}\n")
    release(setup)
    return code


def _die_with(guard: int) -> None:
    """Ask the kernel for it; a guard that died before that is not waited for."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os.kill(os.getpid(), signal.SIGKILL)


def _reaped(child: int) -> int:
    """Process 1 inherits orphans, which want to be reaped too."""
    while True:
        process, status = os.wait()
        if process == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def release(setup: Setup) -> None:
    """The broker is dead: what it has of the lease is given away, while no other one can start."""
    disk = None
    try:
        disk = FolderDisk(setup.root)
        disk.lock(LOCK)
    except DiskError as error:
        if error.failure is DiskFailure.LOCKED:
            return  # another one has the store, and the lease, if it is ours, is that one's
        # On a disk that fails no other one starts either.
    asyncio.run(_release(setup, disk))
    if disk is not None:
        disk.close()


async def _release(setup: Setup, disk: Disk | None) -> None:
    """On a disk that cannot be read, the group's Lease is found by asking for both names."""
    from gantrymq.broker import lease_client, lease_name  # noqa: PLC0415 - small while it waits

    group = setup.group
    assert group is not None
    try:
        api = lease_client.api_of(group.lease_url)
    except ConfigurationError:
        return  # the broker said so, and had no lease
    place, former, own = group.lease, group.former_lease, ""
    if disk is not None:
        with suppress(DiskError, StoreRefusedError):
            place, former = lease_name.places(disk, place, former)
            own = (identity.read(disk) or Identity()).disk
    client = lease_client.LeaseClient(api, place, SYSTEM_CLOCK.wall_ms, former=former)
    address = setup.identity.address
    try:
        async with asyncio.timeout(DURATION_SECONDS):
            while not await give_away(client, group.number, address, own):  # noqa: ASYNC110
                await asyncio.sleep(AGAIN_SECONDS)
    except TimeoutError:
        sys.stderr.write("gantry broker: the lease could not be reached; it ends by itself\n")
    await api.close()


class LeaseAccess(Protocol):
    """Reads and writes the Lease, as LeaseClient does."""

    async def read(self) -> LeaseAnswer: ...

    async def write(self, lease: Lease) -> LeaseAnswer: ...


async def give_away(client: LeaseAccess, member: int, address: str, disk: str = "") -> bool:
    """Whether the lease is not the dead one's any more, which took requests at this address and had
    this disk; "" where its UUID is not known."""
    answer: LeaseAnswer = await client.read()
    if isinstance(answer, Missing):
        return True
    if not isinstance(answer, Found):
        return False
    lease = answer.lease
    is_of_disk = lease.is_of(member, disk) if disk else lease.holder == member
    if not is_of_disk or lease.address != address:
        return True
    if lease.doubt is not None:  # to write it again would seal what no member wrote
        sys.stderr.write(
            f"gantry broker: the lease is not believed, and ends by itself: {lease.doubt}\n"
        )
        return True
    released = replace(
        lease, holder=NOBODY, address="", ha_address="", heir=NOBODY, renewals=lease.renewals + 1
    )
    if not isinstance(await client.write(released), Written):
        return False
    sys.stderr.write("gantry broker: the broker was master, and its lease is given away\n")
    return True
