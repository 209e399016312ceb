"""A Kubernetes API of one Lease, in virtual time, that answers late; members wait as in production.

A request is carried out at half of its latency, whether its member still waits or not. The latency
of each request comes from a function, and each member waits by an AdaptiveTimeout of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, final

from gantrymq.fakes.groups.lease_store import LeaseStore
from gantrymq.ha.election.actions import ReadLease, WriteLease
from gantrymq.ha.lease.lease import Unanswered
from gantrymq.runtime.http.kube_api import REQUEST_SECONDS, REQUEST_SECONDS_MAX
from gantrymq.runtime.net.adaptive_timeout import AdaptiveTimeout

if TYPE_CHECKING:
    from gantrymq.ha.member.member import Member


def production_timeout() -> AdaptiveTimeout:
    return AdaptiveTimeout(REQUEST_SECONDS, REQUEST_SECONDS_MAX)


@final
class SlowApi:
    """The slow lease API of one group. `ask` begins a request, `step` does what is due."""

    def __init__(
        self,
        store: LeaseStore,
        latency: Callable[[], float],
        timeout: Callable[[], AdaptiveTimeout] = production_timeout,
    ) -> None:
        self.latency = latency
        self.requests = 0
        self.expired = 0
        self._due: list[tuple[float, int, Callable[[float], None]]] = []
        self._new_timeout = timeout
        self._number = 0
        self._store = store
        self._timeouts: dict[Member, AdaptiveTimeout] = {}

    def ask(self, member: Member, action: ReadLease | WriteLease, now: float) -> None:
        latency = self.latency()
        timeout = self._timeouts.setdefault(member, self._new_timeout())
        waits_until = now + timeout.seconds
        self.requests += 1

        def carry_out(_: float) -> None:
            answer = self._store.carry_out(action)

            def tell(at: float) -> None:
                timeout.answered(latency)
                member.lease_answered(action.number, answer, at)

            if now + latency <= waits_until:
                self._at(now + latency, tell)

        def expire(at: float) -> None:
            timeout.expired()
            self.expired += 1
            member.lease_answered(action.number, Unanswered("late"), at)

        self._at(now + latency / 2, carry_out)
        if now + latency > waits_until:
            self._at(waits_until, expire)

    def step(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            _, _, work = self._due.pop(0)
            work(now)

    def _at(self, moment: float, work: Callable[[float], None]) -> None:
        self._number += 1
        self._due.append((moment, self._number, work))
        self._due.sort(key=lambda each: each[:2])
