"""The process that waits for a broker, and gives its lease away once it is dead.

A master that was killed cannot do that itself, and the others of its group would wait for as long
as the lease lasts. Whoever has reaped the broker knows that it acknowledges nothing any more: so
they need not. In a container this is process 1; `gantry broker --guarded` starts it.

Invariant: nothing is given away while the broker may live. When this process dies the kernel kills
the broker, for nobody would know of its end.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gantrymq.ha.lease import NOBODY, Found, LeaseAnswer, Missing, Written
from gantrymq.runtime.clock import SYSTEM_CLOCK
from gantrymq.runtime.process import ExitCode

if TYPE_CHECKING:
    from gantrymq.broker.configuration import Setup
    from gantrymq.broker.lease_client import LeaseClient

# After as long the lease is over by itself.
TRIES_MAX: Final = 40
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
    for number in _FORWARDED:
        signal.signal(number, lambda which, _: os.kill(child, which))
    code = _reaped(child)
    if code != ExitCode.OK:
        sys.stderr.write(f"gantry broker: the broker ended with {code}; its lease is given away\n")
        asyncio.run(_release(setup))
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


async def _release(setup: Setup) -> None:
    from gantrymq.broker import lease_client  # noqa: PLC0415 - the guard is small while it waits

    assert setup.group is not None
    api = lease_client.api_of(setup.group.lease_url)
    client = lease_client.LeaseClient(api, setup.group.lease, SYSTEM_CLOCK.wall_ms)
    for _ in range(TRIES_MAX):
        if await give_away(client, setup.group.number):
            break
        await asyncio.sleep(AGAIN_SECONDS)
    else:
        sys.stderr.write("gantry broker: the lease could not be reached; it ends by itself\n")
    await api.close()


async def give_away(client: LeaseClient, member: int) -> bool:
    """Whether the lease is not this member's any more."""
    answer: LeaseAnswer = await client.read()
    if isinstance(answer, Missing):
        return True
    if not isinstance(answer, Found):
        return False
    lease = answer.lease
    if lease.holder != member:
        return True
    released = replace(
        lease, holder=NOBODY, address="", ha_address="", heir=NOBODY, renewals=lease.renewals + 1
    )
    return isinstance(await client.write(released), Written)
