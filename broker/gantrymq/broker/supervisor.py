"""Waits for the broker's process to end, and then releases its lease.

A master that was killed, or ran out of time to hand over, cannot release the lease itself, and the
other members of its group would have to wait until it expires. The process that has reaped the
broker knows that it acknowledges nothing any more, whatever its exit code, so they need not wait.
In a container this is process 1; `gantry broker --guarded` starts it.

Invariant: the lease is not released while a broker that holds it may live: neither the one that was
reaped here, nor one that was started since. The store's lock keeps the latter from starting
meanwhile; with another disk it has another address. When this process dies the kernel kills the
broker, as no process would notice the broker's end.
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
from gantrymq.ha.disk import identity
from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.lease.lease import (
    DURATION_SECONDS,
    NO_MEMBER,
    Found,
    Lease,
    LeaseAnswer,
    Missing,
    Written,
)
from gantrymq.runtime.clock import SYSTEM_CLOCK
from gantrymq.runtime.process import ExitCode
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.store.layout import LOCK, StoreRefusedError

if TYPE_CHECKING:
    from gantrymq.base.disk import Disk
    from gantrymq.broker.configuration import Setup

AGAIN_SECONDS: Final = 0.1

_FORWARDED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG: Final = 1


def run(setup: Setup, broker: Callable[[], int]) -> int:
    """Run `broker` in a child process; returns its exit code as a shell shows it. A broker with a
    fixed role has no lease and runs without a guard."""
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
        signal.signal(number, signal.SIG_DFL)  # there is no child to forward it to
    if code != ExitCode.OK:
        sys.stderr.write(f"gantry broker: the broker exited with code {code}\n")
    release(setup)
    return code


def _die_with(guard: int) -> None:
    """Have the kernel kill this process when the guard dies, or exit now if it is already dead."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os.kill(os.getpid(), signal.SIGKILL)


def _reaped(child: int) -> int:
    """Wait for the child, reaping orphans as well, which process 1 inherits."""
    while True:
        process, status = os.wait()
        if process == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def release(setup: Setup) -> None:
    """Release the lease of the dead broker, while no other broker can open the store."""
    disk = None
    try:
        disk = FolderDisk(setup.root)
        disk.lock(LOCK)
    except DiskError as error:
        if error.failure is DiskFailure.LOCKED:
            return  # another broker has the store, and so the lease, if this member holds it
        # On a failing disk no other broker can start either.
    asyncio.run(_release(setup, disk))
    if disk is not None:
        disk.close()


async def _release(setup: Setup, disk: Disk | None) -> None:
    """Release the lease. If the disk cannot be read, both names of the group's Lease are tried."""
    from gantrymq.broker.member import lease_client  # noqa: PLC0415 - small while it waits
    from gantrymq.broker.setup import lease_name  # noqa: PLC0415 - small while it waits

    group = setup.group
    assert group is not None
    try:
        api = lease_client.api_of(group.lease_url)
    except ConfigurationError:
        return  # the broker has logged this, and had no lease
    place, former, own = group.lease, group.former_lease, ""
    if disk is not None:
        with suppress(DiskError, StoreRefusedError):
            place, former = lease_name.places(disk, place, former)
            own = (identity.read(disk) or Identity()).disk
    client = lease_client.LeaseClient(api, place, SYSTEM_CLOCK.wall_ms, former=former)
    address = setup.identity.address
    try:
        async with asyncio.timeout(DURATION_SECONDS):
            while not await release_lease(client, group.number, address, own):  # noqa: ASYNC110
                await asyncio.sleep(AGAIN_SECONDS)
    except TimeoutError:
        sys.stderr.write(
            "gantry broker: the lease could not be released in time, so it is left to expire\n"
        )
    await api.close()


class LeaseAccess(Protocol):
    """Reads and writes the Lease, as LeaseClient does."""

    async def read(self) -> LeaseAnswer: ...

    async def write(self, lease: Lease) -> LeaseAnswer: ...


async def release_lease(client: LeaseAccess, member: int, address: str, disk: str = "") -> bool:
    """Release the lease if the dead broker holds it, which accepted requests at this address and
    had this disk; "" if its UUID is not known. Returns whether the dead broker does not hold it any
    more."""
    answer: LeaseAnswer = await client.read()
    if isinstance(answer, Missing):
        return True
    if not isinstance(answer, Found):
        return False
    lease = answer.lease
    is_of_disk = lease.is_held_by(member, disk) if disk else lease.holder == member
    if not is_of_disk or lease.address != address:
        return True
    if lease.untrusted_reason is not None:  # writing it again would seal what no member wrote
        sys.stderr.write(
            "gantry broker: the lease is not trusted, so it is left to expire:"
            f" {lease.untrusted_reason}\n"
        )
        return True
    released = replace(
        lease,
        holder=NO_MEMBER,
        address="",
        ha_address="",
        successor=NO_MEMBER,
        renewals=lease.renewals + 1,
    )
    if not isinstance(await client.write(released), Written):
        return False
    sys.stderr.write("gantry broker: the broker was master, and its lease is released\n")
    return True
