"""Limits the requests per second of each address: maxRequestsPerSecondPerAddress.

    within the limit, with bursts of one second       carried out
    beyond it                                         carried out, and the connection is not read
                                                      until the debt is paid, at most for
                                                      quotaDelayMaxMillis
    more debt than that                               SYSTEM_BUSY, and the connection is not read
                                                      for quotaDelayMaxMillis

Registrations of brokers and requests of administrators are delayed and never refused: otherwise a
flood from a broker's address would remove its routes, and an administrator at that address could
not lift the limit. Invariants: a request that meets more debt than the bound is not charged, so
debt is bounded; all addresses count, including those of the machine itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.acl.requests.needs import NAME_SERVER_REQUESTS
from gantrymq.base.peer_address import counted_address
from gantrymq.base.token_bucket import TokenBucket
from gantrymq.namesrv.core.messages import Channel, DelayChannel, Effects, Reply, Request
from gantrymq.namesrv.core.requests import REQUESTS
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.remoting.refusal import rejected

# Some 300 bytes each. Beyond that, further addresses share one bucket.
ADDRESSES_MAX: Final = 20_000

# The search for idle buckets takes milliseconds if there are many.
SWEEP_SECONDS: Final = 10.0

# A shorter wait costs a timer and has no use: the debt stays, and adds up to a longer wait.
DELAY_MIN_SECONDS: Final = 0.005

# The operator learns which address it is; to log each refusal would flood the log.
LINE_SECONDS: Final = 10.0

_ONLY_DELAYED: Final = frozenset(REQUESTS) - frozenset(NAME_SERVER_REQUESTS)
_SHARED: Final = "addresses beyond the bound"


@dataclass(slots=True)
class QuotaCounts:
    """What the quota did since the start; the assembly exports it as metrics."""

    delays: int = 0
    delay_seconds: float = 0.0
    refusals: int = 0


@final
class _Sender:
    """A connection that has sent a request."""

    __slots__ = ("address", "paused_until")

    def __init__(self, address: str) -> None:
        self.address: str = address
        self.paused_until: float = 0.0


@final
class RequestQuota:
    """The request rates of all addresses. Owned by the core of one name server."""

    __slots__ = (
        "_addresses_max",
        "_buckets",
        "_delay_max",
        "_next_line",
        "_next_sweep",
        "_senders",
        "counts",
        "rate",
    )

    def __init__(self, settings: NameServerSettings, addresses_max: int = ADDRESSES_MAX) -> None:
        self._addresses_max: int = addresses_max
        self._buckets: dict[str, TokenBucket] = {}
        self._delay_max: float = 0.0
        self._next_line: float = 0.0
        self._next_sweep: float = 0.0
        self._senders: dict[Channel, _Sender] = {}
        self.counts: QuotaCounts = QuotaCounts()
        self.rate: int = 0
        """Requests per second of an address; 0 means no limit, and nothing is counted."""
        self.change(settings)

    def change(self, settings: NameServerSettings) -> None:
        """Apply new settings. If the limit changes, all addresses start without debt."""
        self._delay_max = settings.quota_delay_max_millis / 1000
        if settings.max_requests_per_second_per_address != self.rate:
            self.rate = settings.max_requests_per_second_per_address
            self._buckets.clear()

    def closed(self, channel: Channel) -> None:
        self._senders.pop(channel, None)

    def admit(self, request: Request, now: float, effects: Effects) -> Reply | None:
        """Count a request if there is a limit; returns its refusal, or None to carry it out."""
        sender = self._senders.get(request.channel)
        if sender is None:
            sender = self._senders[request.channel] = _Sender(counted_address(request.channel.peer))
        bucket = self._bucket(sender.address, now)
        seconds = bucket.delay(now)
        if seconds <= self._delay_max:
            bucket.charge(1.0, now)
            self._pause(request.channel, sender, bucket.delay(now), now, effects)
            return None
        self._pause(request.channel, sender, seconds, now, effects)
        if request.command.code in _ONLY_DELAYED:
            return None
        return self._refusal(sender.address, seconds, now, effects)

    def _bucket(self, address: str, now: float) -> TokenBucket:
        bucket = self._buckets.get(address)
        if bucket is not None:
            return bucket
        if len(self._buckets) >= self._addresses_max:
            self._sweep(now)
        if len(self._buckets) >= self._addresses_max:
            address = _SHARED
            bucket = self._buckets.get(address)
        if bucket is None:
            bucket = self._buckets[address] = TokenBucket(float(self.rate), now)
        return bucket

    def _sweep(self, now: float) -> None:
        """Forget addresses whose bucket is in the same state as a new one."""
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_SECONDS
        for address, bucket in list(self._buckets.items()):
            if bucket.is_idle(now):
                del self._buckets[address]

    def _pause(
        self, channel: Channel, sender: _Sender, seconds: float, now: float, effects: Effects
    ) -> None:
        """Stop reading from this connection for `seconds`; once for many requests of one read."""
        seconds = min(seconds, max(self._delay_max, DELAY_MIN_SECONDS))
        until = now + seconds
        if seconds < DELAY_MIN_SECONDS or until < sender.paused_until + DELAY_MIN_SECONDS:
            return
        self.counts.delays += 1
        self.counts.delay_seconds += until - max(now, sender.paused_until)
        sender.paused_until = until
        effects.add(DelayChannel(channel, seconds))

    def _refusal(self, address: str, seconds: float, now: float, effects: Effects) -> Reply:
        self.counts.refusals += 1
        limit = f"maxRequestsPerSecondPerAddress={self.rate}"
        if now >= self._next_line:
            self._next_line = now + LINE_SECONDS
            effects.warning(
                f"refusing requests address={address} limit={limit} debt={seconds:.1f}s"
                f" refused={self.counts.refusals}"
            )
        return Reply(
            rejected(
                f"address {address} has used up {limit} for {seconds:.1f} s; ask for less, or raise"
                " the limit with `mqadmin updateNamesrvConfig -k maxRequestsPerSecondPerAddress`"
            )
        )
