"""Delays and refuses requests that exceed a quota.

    a read of sends that the kernel took    charged afterwards; reading from the connection pauses
                                            while the debt lasts, at most quotaDelayMaxMillis
    a request of the general path           charged; its connection pauses in the same way
    a pull or pop                           its answer waits, at most quotaPullDelayMaxMillis;
                                            other requests of its connection continue
    more debt than that                     SYSTEM_BUSY, with the quota in its remark

Invariant: a refused request is not charged. While a quota is exceeded, requests that are never
refused (heartbeats, acks) and requests that access control refused are not charged either. So debt
exceeds the limit by at most one request, however many requests arrive. Charges are made by read and
by request; nothing is done for each message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, final

from gantrymq.acl.rights.caller import Caller
from gantrymq.base.peer_address import host_of
from gantrymq.broker.core.access import forward_proofs
from gantrymq.broker.core.access.access import Access
from gantrymq.broker.core.context import Context
from gantrymq.broker.core.messages import Channel, DelayChannel, Reply, Request
from gantrymq.broker.core.quotas.meters import Charge, Meter, Meters
from gantrymq.broker.core.quotas.traffic import (
    ONLY_DELAYED,
    READS,
    sent_bytes,
    sent_topic,
)
from gantrymq.broker.core.tables.groups import Groups
from gantrymq.broker.core.tables.topics import Topics
from gantrymq.remoting.refusal import rejected
from gantrymq.store.append.write_group import TopicSize
from gantrymq.store.record.send_fields import BORN_HOST
from gantrymq.wire.bodies.quotas import QuotaKind, QuotaLimit
from gantrymq.wire.java_string import utf8_text

# A shorter pause costs a timer and saves nothing: the debt adds up to a longer one.
DELAY_MIN_SECONDS: Final = 0.005

# The most pulls of all clients that wait for their quotas. More would displace other requests, of
# which a broker carries out 50 000 at a time.
HELD_MAX: Final = 10_000

# A refused topic is accepted again when its debt is down to this share of the limit, so that it
# does not alternate with each message.
CALM_SHARE: Final = 0.5


@final
class QuotaGate:
    """Admits the requests of one broker; owned by `Quotas`."""

    __slots__ = (
        "_access",
        "_addresses",
        "_context",
        "_groups",
        "_meters",
        "_topics",
        "delayed",
        "delayed_seconds",
        "held",
        "refused",
    )

    def __init__(
        self, context: Context, access: Access, topics: Topics, groups: Groups, meters: Meters
    ) -> None:
        self._access = access
        self._addresses: dict[Channel, Meter | None] = {}
        self._meters = meters
        self._context = context
        self._topics = topics
        self._groups = groups
        self.delayed: Counter[tuple[QuotaKind, QuotaLimit]] = Counter()
        """Delays, by the kind and limit of the quota that caused them."""
        self.delayed_seconds: dict[tuple[QuotaKind, QuotaLimit], float] = {}
        self.held: int = 0
        """Pulls that wait for their quotas."""
        self.refused: Counter[tuple[QuotaKind, QuotaLimit]] = Counter()

    def forget_addresses(self) -> None:
        """Drop the cached meters of connections, because the quotas changed."""
        self._addresses.clear()

    def closed(self, channel: Channel) -> None:
        self._addresses.pop(channel, None)

    # ------------------------------------------------------------------ reads of the kernel

    def refuses_read(self, channel: Channel, now: float) -> bool:
        """Whether the kernel must leave this connection's sends to `admit`, which refuses them."""
        meter = self._address(channel, now)
        if meter is None:
            return False
        longest = self._delay_max
        produce, requests = meter.produce, meter.requests
        return (produce is not None and produce.delay(now) > longest) or (
            requests is not None and requests.delay(now) > longest
        )

    def fed(
        self,
        channel: Channel,
        count: int,
        frames_bytes: int,
        sizes: Sequence[TopicSize],
        now: float,
    ) -> Sequence[str]:
        """Charge a read that the kernel took; return the topics that now exceed the limit."""
        worst = self._charged(self._address(channel, now), count, frames_bytes, now, None)
        messages = sum(size.messages for size in sizes) or 1
        over: list[str] = []
        for size in sizes:
            topic = utf8_text(size.topic)
            meter = self._meters.find(QuotaKind.TOPIC, topic, now)
            if meter is None:
                continue
            requests = count * size.messages / messages
            worst = self._charged(meter, requests, size.record_bytes, now, worst)
            if self.is_over(meter, now):
                over.append(topic)
        self._delay(channel, worst, now)
        return over

    def _charged(
        self, meter: Meter | None, requests: float, size: int, now: float, worst: Charge | None
    ) -> Charge | None:
        """Charge sends to a meter; return the charge with the longest delay so far."""
        if meter is None:
            return worst
        if meter.produce is not None and size:
            meter.produce.charge(size, now)
            worst = _worse(worst, Charge(meter.produce, meter, QuotaLimit.PRODUCE_BYTES), now)
        if meter.requests is not None:
            meter.requests.charge(requests, now)
            worst = _worse(worst, Charge(meter.requests, meter, QuotaLimit.REQUESTS), now)
        return worst

    def is_over(self, meter: Meter, now: float) -> bool:
        """Whether sends to this topic are refused, rather than delayed."""
        return self._send_delay(meter, now) > self._delay_max

    def is_calm(self, meter: Meter, now: float) -> bool:
        """Whether sends to a refused topic may be accepted again."""
        return self._send_delay(meter, now) <= self._delay_max * CALM_SHARE

    @staticmethod
    def _send_delay(meter: Meter, now: float) -> float:
        buckets = (meter.produce, meter.requests)
        return max(0.0 if bucket is None else bucket.delay(now) for bucket in buckets)

    # ------------------------------------------------------------------ requests

    def admit(self, request: Request) -> Reply | QuotaWait | None:
        """Return None to carry out the request now, its refusal, or the wait that it has to
        complete before."""
        command, now = request.command, self._context.now
        if command.code in READS:
            return self._admit_read(request, now)
        topic = sent_topic(command)
        size = 0 if topic is None else sent_bytes(command)
        is_relayed = self._is_relayed(request)
        meters = [] if is_relayed else self._senders(request, now)
        if topic is not None:
            meters.append(self._topic(topic, now))
        worst = self._worst(meters, now, has_bytes=size > 0)
        is_over = worst is not None and worst.bucket.delay(now) > self._delay_max
        if worst is not None and is_over and command.code not in ONLY_DELAYED:
            return self._refusal(request, worst, now, pauses=not is_relayed)
        for meter in () if is_over else meters:
            worst = self._charged(meter, 1, size, now, worst)
        if not is_relayed:
            self._delay(request.channel, worst, now)
        return None

    def note_denied(self, request: Request) -> None:
        """Charge a request that access control refused, to its address alone.

        The account that the request names may not be the sender's.
        """
        now = self._context.now
        meter = self._address(request.channel, now)
        worst = self._worst([meter], now, has_bytes=False)
        if worst is None or worst.bucket.delay(now) <= self._delay_max:
            worst = self._charged(meter, 1, 0, now, None)
        self._delay(request.channel, worst, now)

    def _senders(self, request: Request, now: float) -> list[Meter | None]:
        """The meters of a request's address and user."""
        meters = [self._address(request.channel, now)]
        guard, channel = self._access.guard, request.channel
        if guard is not None:
            caller = Caller(channel.peer, certificate_names=channel.certificate_names)
            account = guard.asking_account(request.command, caller)
            if account:
                meters.append(self._meters.find(QuotaKind.USER, account, now))
        return meters

    def _is_relayed(self, request: Request) -> bool:
        """Whether another member forwarded this request of a client.

        Then the address and the account are the member's, so they are not charged.
        """
        context, command = self._context, request.command
        identity = context.identity
        if not identity.is_elected or not command.ext or BORN_HOST not in command.ext:
            return False
        return forward_proofs.born_host(command, context.group_secret, identity) is not None

    def _worst(
        self, meters: Sequence[Meter | None], now: float, *, has_bytes: bool
    ) -> Charge | None:
        """The charge with the longest delay among those of a send."""
        worst: Charge | None = None
        for meter in meters:
            if meter is None:
                continue
            if has_bytes and meter.produce is not None:
                worst = _worse(worst, Charge(meter.produce, meter, QuotaLimit.PRODUCE_BYTES), now)
            if meter.requests is not None:
                worst = _worse(worst, Charge(meter.requests, meter, QuotaLimit.REQUESTS), now)
        return worst

    # ------------------------------------------------------------------ pulls and pops

    def _admit_read(self, request: Request, now: float) -> Reply | QuotaWait | None:
        meters = self._readers(request, now)
        worst: Charge | None = None
        for meter in meters:
            if meter.consume is not None:
                worst = _worse(worst, Charge(meter.consume, meter, QuotaLimit.CONSUME_BYTES), now)
            if meter.requests is not None:
                worst = _worse(worst, Charge(meter.requests, meter, QuotaLimit.REQUESTS), now)
        seconds = 0.0 if worst is None else worst.bucket.delay(now)
        is_crowded = seconds >= DELAY_MIN_SECONDS and self.held >= HELD_MAX
        if worst is not None and (is_crowded or seconds > self._pull_delay_max):
            return self._refusal(request, worst, now, pauses=False)
        for meter in meters:
            if meter.requests is not None:
                meter.requests.charge(1, now)
        if worst is None or seconds < DELAY_MIN_SECONDS:
            return None
        self._note_delay(worst, seconds)
        return QuotaWait(self, meters, now + seconds)

    def _readers(self, request: Request, now: float) -> list[Meter]:
        """The meters of a pull: those of its address, user, topic and group."""
        ext = request.command.ext or {}
        return self._readers_of(request, ext.get("topic", ""), ext.get("consumerGroup", ""), now)

    def _readers_of(self, request: Request, topic: str, group: str, now: float) -> list[Meter]:
        found = self._senders(request, now)
        found.append(self._topic(topic, now))
        if self._groups.find(group) is not None:
            found.append(self._meters.find(QuotaKind.GROUP, group, now))
        return [meter for meter in found if meter is not None]

    def consumed(self, request: Request, topic: str, group: str, size: int) -> None:
        """Charge the messages in the answer to a pull or pop."""
        now = self._context.now
        for meter in self._readers_of(request, topic, group, now):
            if meter.consume is not None:
                meter.consume.charge(size, now)
                meter.answered(size)

    # ------------------------------------------------------------------ waiting and refusing

    def _address(self, channel: Channel, now: float) -> Meter | None:
        known = self._addresses.get(channel)
        if known is None and channel not in self._addresses:
            address = host_of(channel.peer)
            known = self._meters.find(QuotaKind.ADDRESS, address, now)
            self._addresses[channel] = known
        return known

    def _topic(self, topic: str, now: float) -> Meter | None:
        """The meter of a topic that exists; others have none, because clients may invent names."""
        if self._topics.find(topic) is None:
            return None
        return self._meters.find(QuotaKind.TOPIC, topic, now)

    def _delay(self, channel: Channel, worst: Charge | None, now: float) -> None:
        """Pause reading from this connection while its worst debt lasts."""
        seconds = 0.0 if worst is None else worst.bucket.delay(now)
        if worst is None or seconds < DELAY_MIN_SECONDS:
            return
        seconds = min(seconds, self._delay_max)
        if seconds > 0.0:
            self._note_delay(worst, seconds)
            self._context.effects.add(DelayChannel(channel, seconds))

    def _note_delay(self, worst: Charge, seconds: float) -> None:
        key = (worst.meter.kind, worst.limit)
        self.delayed[key] += 1
        self.delayed_seconds[key] = self.delayed_seconds.get(key, 0.0) + seconds

    def _refusal(self, request: Request, over: Charge, now: float, *, pauses: bool) -> Reply:
        self.refused[over.meter.kind, over.limit] += 1
        seconds = over.bucket.delay(now)
        if pauses:
            self._pause(request.channel)
        return Reply(rejected(_told(over, seconds)))

    def refuse_full(self, request: Request, why: str) -> Reply:
        """The answer to a send whose topic has used up its storage quota."""
        self.refused[QuotaKind.TOPIC, QuotaLimit.STORAGE_BYTES] += 1
        if not self._is_relayed(request):
            self._pause(request.channel)
        return Reply(rejected(why))

    def _pause(self, channel: Channel) -> None:
        """Pause the connection of a refused request, so that its client cannot retry
        continuously."""
        pause = max(self._delay_max, DELAY_MIN_SECONDS)
        self._context.effects.add(DelayChannel(channel, pause))

    @property
    def _delay_max(self) -> float:
        return self._context.settings.quota_delay_max_millis / 1000

    @property
    def _pull_delay_max(self) -> float:
        return self._context.settings.quota_pull_delay_max_millis / 1000


@final
class QuotaWait:
    """A pull that waits for its quota.

    Its expected answer is charged meanwhile, so that later pulls wait longer.
    """

    __slots__ = ("_gate", "_meters", "_reserved", "until")

    def __init__(self, gate: QuotaGate, meters: Sequence[Meter], until: float) -> None:
        self._gate = gate
        self._meters = [meter for meter in meters if meter.consume is not None]
        self._reserved = [meter.answer_bytes for meter in self._meters]
        self.until = until

    def reserve(self, now: float) -> None:
        """Begin to wait."""
        self._gate.held += 1
        self._charge(1.0, now)

    def _charge(self, sign: float, now: float) -> None:
        for meter, size in zip(self._meters, self._reserved, strict=True):
            if meter.consume is not None:
                meter.consume.charge(sign * size, now)

    def release(self, now: float) -> None:
        """End the wait; the actual answer is charged separately."""
        self._gate.held -= 1
        self._charge(-1.0, now)


def _worse(one: Charge | None, other: Charge, now: float) -> Charge:
    if one is None or other.bucket.delay(now) > one.bucket.delay(now):
        return other
    return one


def _told(over: Charge, seconds: float) -> str:
    """The error text: the quota, the excess, and the commands that show and change it."""
    meter, limit = over.meter, over.limit
    allowed = meter.source(limit)
    kind = meter.kind.value
    return (
        f"the quota of {kind} {meter.name} is used up for {seconds:.1f} s:"
        f" {limit.value}={allowed.amount}, set for {kind} {allowed.source}; send or ask for less,"
        " or see `gantry quota list` and `gantry quota set`"
    )
