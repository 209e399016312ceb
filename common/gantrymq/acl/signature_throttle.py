"""Slows down peers that guess signatures or accounts.

    failures of (address, account)     until the connection's next signature is checked
    1 to 5                             nothing
    6, 7, 8, ...                       0.5 s, 1 s, 2 s, ... 60 s at most

A wrong signature delays only the connection that it came over: until the delay ends, requests of
that connection with that account are refused without a check of their signature. So a valid
signature is never refused because of another address, or another connection of the same address;
and each new connection has one attempt. The length of the delay depends on all failures of the
address with that account, which are forgotten after ten minutes without one.

Invariants: keys of the tables are never chosen by a peer. Accounts are keys only if they exist, and
all accounts that do not exist share one key. An IPv6 address counts by its network of 64 bits,
which is what one subscriber has. Both tables are bounded; the oldest entry makes room.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar, final

from gantrymq.acl.guard import Guard
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.rights.refusal import AuthenticationFailure, Refusal, refusal, shortened
from gantrymq.acl.signature.signature import ACCESS_KEY
from gantrymq.base.peer_address import counted_address
from gantrymq.wire.command import Command

K = TypeVar("K")
V = TypeVar("V")

# A client whose keys are being replaced fails a few times before it is restarted.
FREE_FAILURES: Final = 5
FIRST_SECONDS: Final = 0.5
# A guess a minute finds no secret; a client that got its new key waits no longer than that.
LONGEST_SECONDS: Final = 60.0
FORGOTTEN_SECONDS: Final = 600.0

_GUESSES: Final = frozenset(
    {AuthenticationFailure.UNKNOWN_ACCOUNT, AuthenticationFailure.WRONG_SIGNATURE}
)

# An entry has some 300 bytes.
PEERS_MAX: Final = 4096
CONNECTIONS_MAX: Final = 8192

_NETWORK_BITS: Final = 64
_DOUBLINGS_MAX: Final = 16
# The first few, then each power of two: an attack of a day writes some twenty lines an address.
_LOGGED_ALWAYS: Final = 3


@final
class _Failures:
    __slots__ = ("count", "last_at")

    def __init__(self, now: float) -> None:
        self.count: int = 0
        self.last_at: float = now


@final
class SignatureThrottle:
    """Failed authentications by peer. Owned by the core of one server."""

    __slots__ = ("_connections", "_peers", "counts")

    def __init__(self) -> None:
        self._peers: dict[tuple[str, str], _Failures] = {}
        self._connections: dict[object, dict[str, float]] = {}
        self.counts: dict[AuthenticationFailure, int] = dict.fromkeys(AuthenticationFailure, 0)
        """Failures since the start, for the metrics."""

    def check(
        self, guard: Guard, command: Command, connection: object, caller: Caller, now: float
    ) -> Refusal | None:
        """The guard's decision; a refusal without a check while the connection is delayed."""
        seconds = self._wait_seconds(connection, guard, command, now)
        if seconds:
            refused: Refusal | None = _too_often(guard, command, seconds)
        else:
            refused = guard.check(command, caller)
        if refused is None or refused.failure is None:
            return refused
        self.counts[refused.failure] += 1
        if refused.failure in _GUESSES:
            account = guard.account_of(command)
            failures = self._failed(connection, caller.peer, account, now)
            return replace(refused, is_logged=_is_logged(failures))
        return refused

    def _wait_seconds(
        self, connection: object, guard: Guard, command: Command, now: float
    ) -> float:
        """For how many seconds this connection's signatures of the account are not checked."""
        by_account = self._connections.get(connection)
        if by_account is None:
            return 0.0
        return max(0.0, by_account.get(guard.account_of(command), 0.0) - now)

    def _failed(self, connection: object, peer: str, account: str, now: float) -> int:
        """Record a wrong signature or an unknown account; returns the failures of address and
        account.

        `peer` is the `ip:port` of the connection.
        """
        key = (counted_address(peer), account)
        failures = self._peers.pop(key, None)
        if failures is None or failures.last_at + FORGOTTEN_SECONDS <= now:
            failures = _Failures(now)
        failures.count += 1
        failures.last_at = now
        _put(self._peers, key, failures, PEERS_MAX)
        seconds = _seconds(failures.count)
        if seconds:
            by_account = self._connections.pop(connection, {})
            by_account[account] = now + seconds
            _put(self._connections, connection, by_account, CONNECTIONS_MAX)
        return failures.count

    def closed(self, connection: object) -> None:
        """Forget a connection that has ended."""
        self._connections.pop(connection, None)


def _is_logged(count: int) -> bool:
    """Whether this failure of an address and account is logged."""
    return count <= _LOGGED_ALWAYS or count & (count - 1) == 0


def _too_often(guard: Guard, command: Command, seconds: float) -> Refusal:
    key = (command.ext or {}).get(ACCESS_KEY, "")
    return refusal(
        f"Check signature failed for accessKey={shortened(key)}; it was not checked, for too many"
        f" were wrong: the next one of this connection is checked in {seconds:.1f} s, the first"
        " one of a new connection at once. Correct the client's accessKey and secretKey",
        AuthenticationFailure.THROTTLED,
        is_logged=False,
        is_user=not guard.has_accounts,
    )


def _seconds(count: int) -> float:
    doublings = min(count - FREE_FAILURES - 1, _DOUBLINGS_MAX)
    return 0.0 if doublings < 0 else min(FIRST_SECONDS * 2.0**doublings, LONGEST_SECONDS)


def _put(table: dict[K, V], key: K, value: V, most: int) -> None:
    """Insert as the newest entry; drops the oldest if the table is full."""
    if len(table) >= most:
        del table[next(iter(table))]
    table[key] = value
