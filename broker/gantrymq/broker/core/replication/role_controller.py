"""Changes the role of a broker whose group elects its master, while the broker keeps running.

    lead      The store accepts messages. Offsets of groups beyond the queues' ends are set to the
              ends. Orderly locks stay with their owners for a while.
    serve     The master's own services begin once consumers may see all that the log had when this
              broker became master: earlier work of these services is known from the log alone.
    pause     Neither clients nor services begin new work, so that the master can hand over a
              complete log. If it does not hand over, work resumes.
    follow    Nothing is appended from this call on. The connections of clients that were sending
              are closed, and the clients look for the new master.

Invariant: between `follow` and the next `lead` no task of the master role is running.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.messages import Channel, Register
from gantrymq.broker.core.pop.pops import Pops
from gantrymq.broker.core.pull import commits
from gantrymq.broker.core.pull.consumer_eviction import ConsumerEviction
from gantrymq.broker.core.replication.metadata_replication import MetadataReplication
from gantrymq.broker.core.schedule.delays import DelayService
from gantrymq.broker.core.schedule.timer_service import TimerService
from gantrymq.broker.core.send.kernel_eligibility import KernelEligibility
from gantrymq.broker.core.send.send_forwarder import SendForwarder
from gantrymq.broker.core.state import State
from gantrymq.broker.core.transaction.transaction_check import TransactionCheck

# How long the owner of an orderly lock continues without renewing it: Java's figure.
HEIR_SECONDS: Final = 30.0

# How often to check whether all messages are visible; a follower's report arrives any moment.
LOOK_SECONDS: Final = 0.02


@final
class RoleController:
    """Controls the role and the epoch of one broker."""

    __slots__ = (
        "_consumer_eviction",
        "_delivery_services",
        "_kernel_eligibility",
        "_look_at",
        "_metadata_replication",
        "_own_address",
        "_pops",
        "_send_forwarder",
        "_served",
        "_serves_from",
        "_state",
        "changes",
        "epoch",
    )

    def __init__(
        self,
        state: State,
        *,
        metadata_replication: MetadataReplication,
        pops: Pops,
        kernel_eligibility: KernelEligibility,
        send_forwarder: SendForwarder,
        consumer_eviction: ConsumerEviction,
        delivery_services: tuple[DelayService, TimerService, TransactionCheck],
    ) -> None:
        self._consumer_eviction = consumer_eviction
        self._delivery_services = delivery_services
        self._kernel_eligibility = kernel_eligibility
        self._metadata_replication = metadata_replication
        self._pops = pops
        self._send_forwarder = send_forwarder
        self._look_at = NEVER
        self._own_address = state.identity.address
        self._served = False
        self._serves_from = 0
        self._state = state
        self.epoch = 0
        """The current epoch as master, or the last one."""
        self.changes: Counter[str] = Counter()
        """How often this broker became `master`, and how often it became `slave` again."""

    def lead(self, epoch: int) -> None:
        """Become master."""
        state = self._state
        assert state.identity.is_elected, "fixed roles do not change"
        self.epoch = epoch
        self.changes["master"] += 1
        state.store.lead(state.now)
        self._metadata_replication.settle()
        self._metadata_replication.lead()
        state.task_runner.end_role()
        address = state.identity.group_address or self._own_address
        state.identity = replace(state.identity, broker_id=0, address=address)
        self.master_is("")
        self._serves_from = state.store.log.end
        self._look_at = state.now
        commits.clamp(state)
        self._pops.lead()
        self._keep_locks()
        state.effects.info(
            f"became master member={state.identity.member} group={state.identity.name}"
            f" epoch={epoch} log_end={state.store.log.end}"
        )
        state.effects.add(Register())

    def _keep_locks(self) -> None:
        """Take over the last master's orderly locks; an empty log means that there was no
        master."""
        state = self._state
        if state.store.log.is_empty:
            return
        try:
            state.locks.lead(state.now, HEIR_SECONDS)
        except (RemoteError, ValueError) as error:
            state.effects.warning(f"reading the last master's orderly locks failed: {error}")

    def pause(self, *, is_paused: bool) -> None:
        """Stop beginning new work, or resume.

        Running tasks complete: the next master would repeat a task that was cancelled.
        """
        state = self._state
        if is_paused and not state.is_paused:
            self._served = state.serves
            state.serves = False
        elif state.is_paused and not is_paused:
            state.serves = self._served
        state.is_paused = is_paused
        self._kernel_eligibility.refresh()

    def follow(self) -> None:
        """Become a follower."""
        state = self._state
        self.changes["slave"] += 1
        state.is_paused = False
        self._look_at = NEVER
        state.serves = False
        state.store.follow(state.wall_ms)
        state.task_runner.end_role()
        member = state.identity.member
        state.identity = replace(state.identity, broker_id=member, address=self._own_address)
        self._begin_services_anew()
        self._pops.retire()
        self._consumer_eviction.follow()
        state.effects.info(
            f"became slave member={state.identity.member} group={state.identity.name}"
            f" epoch={self.epoch} log_end={state.store.log.end}"
        )
        state.effects.add(Register())

    def master_is(self, address: str) -> None:
        """Set the master's address for requests; "" when there is no master."""
        state = self._state
        master = "" if address == self._own_address else address
        if master != state.master_address:
            self._metadata_replication.forget_master()
        state.master_address = master
        self._send_forwarder.master_is(master)

    # ------------------------------------------------------------------ the periodic service

    def deadline(self) -> float:
        return self._look_at

    def expire(self, now: float) -> None:
        """Begin to serve once all messages that the log had are visible."""
        state = self._state
        if state.is_paused or state.store.readable < self._serves_from:
            self._look_at = now + LOOK_SECONDS
            return
        self._look_at = NEVER
        self._begin_services_anew()
        state.serves = True

    def closed(self, channel: Channel) -> None:
        """Do nothing: this service keeps no state for connections."""

    def _begin_services_anew(self) -> None:
        for service in self._delivery_services:
            service.begin_anew()
