"""Creates the services of one broker, and hands each one the services that it uses.

Services are what the broker does besides answering requests: they act at deadlines, hold requests,
or react to messages that arrive. Request handlers take single services from here; a service never
takes `Services`, so that its constructor says what it uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from gantrymq.broker.core.client.client_watch import ClientWatch
from gantrymq.broker.core.engine.periodic_service import PeriodicService
from gantrymq.broker.core.engine.service_schedule import ServiceSchedule
from gantrymq.broker.core.metadata.group_expiry import GroupExpiry
from gantrymq.broker.core.metadata.routes import Routes
from gantrymq.broker.core.monitoring.store_values import StoreValues
from gantrymq.broker.core.monitoring.write_health_log import WriteHealthLog
from gantrymq.broker.core.pop.pops import Pops
from gantrymq.broker.core.pull.consumer_eviction import ConsumerEviction
from gantrymq.broker.core.pull.misrouted_consumers import MisroutedConsumers
from gantrymq.broker.core.pull.pull_request_hold import PullRequestHold
from gantrymq.broker.core.replication.master_addresses import MasterAddresses
from gantrymq.broker.core.replication.metadata_replication import MetadataReplication
from gantrymq.broker.core.replication.role_controller import RoleController
from gantrymq.broker.core.replication.slave_synchronizer import SlaveSynchronizer
from gantrymq.broker.core.schedule import delays, timers
from gantrymq.broker.core.schedule.delays import DelayService
from gantrymq.broker.core.schedule.timer_service import TimerService
from gantrymq.broker.core.send.kernel_eligibility import KernelEligibility
from gantrymq.broker.core.send.send_forwarder import SendForwarder
from gantrymq.broker.core.state import State
from gantrymq.broker.core.transaction.transaction_check import TransactionCheck


@final
class Services:
    """The services of one broker, owned by its `Broker`."""

    __slots__ = (
        "_state",
        "client_watch",
        "consumer_eviction",
        "delay_service",
        "group_expiry",
        "kernel_eligibility",
        "master_addresses",
        "metadata_replication",
        "misrouted_consumers",
        "pops",
        "pull_request_hold",
        "role_controller",
        "routes",
        "send_forwarder",
        "slave_synchronizer",
        "store_values",
        "timer_service",
        "transaction_check",
        "write_health_log",
    )

    def __init__(self, state: State) -> None:
        self._state: State = state
        self.client_watch: ClientWatch = ClientWatch(state)
        self.delay_service: DelayService = DelayService(state)
        self.group_expiry: GroupExpiry = GroupExpiry(state)
        self.kernel_eligibility: KernelEligibility = KernelEligibility(state)
        self.master_addresses: MasterAddresses = MasterAddresses(state)
        self.pops: Pops = Pops(state)
        self.pull_request_hold: PullRequestHold = PullRequestHold(state)
        self.routes: Routes = Routes(state)
        self.send_forwarder: SendForwarder = SendForwarder(state)
        self.store_values: StoreValues = StoreValues(state)
        self.timer_service: TimerService = TimerService(state)
        self.transaction_check: TransactionCheck = TransactionCheck(state)
        self.write_health_log: WriteHealthLog = WriteHealthLog(state)
        self.consumer_eviction: ConsumerEviction = ConsumerEviction(state, self.pull_request_hold)
        self.misrouted_consumers: MisroutedConsumers = MisroutedConsumers(
            state, self.pull_request_hold
        )
        self.metadata_replication: MetadataReplication = MetadataReplication(
            state, self.pops, self.delay_service, self.timer_service
        )
        self.slave_synchronizer: SlaveSynchronizer = SlaveSynchronizer(
            state, self.delay_service, self.timer_service
        )
        self.role_controller: RoleController = RoleController(
            state,
            metadata_replication=self.metadata_replication,
            pops=self.pops,
            kernel_eligibility=self.kernel_eligibility,
            send_forwarder=self.send_forwarder,
            consumer_eviction=self.consumer_eviction,
            delivery_services=(self.delay_service, self.timer_service, self.transaction_check),
        )
        state.stats.kernel_counts = self.kernel_eligibility.take_counts

    def schedule(self) -> ServiceSchedule:
        """A schedule of these services; the broker runs it."""
        state = self._state
        return ServiceSchedule(
            state.task_runner,
            state.files,
            state.effects,
            state.stalls,
            periodic=self.periodic,
            arrival_listeners=(self.pull_request_hold, self.pops),
            topic_listeners={delays.TOPIC: self.delay_service, timers.TOPIC: self.timer_service},
        )

    @property
    def periodic(self) -> Sequence[PeriodicService]:
        """The services that act at deadlines, in the order of a turn."""
        return (
            self.role_controller,
            self.metadata_replication,
            self.send_forwarder,
            self.kernel_eligibility,
            self._state.quotas,
            self.client_watch,
            self.group_expiry,
            self._state.table_memory,
            self._state.stats,
            self.write_health_log,
            self.pull_request_hold,
            self.pops,
            self.delay_service,
            self.transaction_check,
            self.timer_service,
            self.master_addresses,
            self.slave_synchronizer,
            self.consumer_eviction,
            self.misrouted_consumers,
        )
