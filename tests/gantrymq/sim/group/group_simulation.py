"""Simulates one group with its clients and its troubles, and checks at the end that it is whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import ge
from typing import Final, final

from gantrymq.broker.core.broker import GROUP_BYTES_MAX
from gantrymq.broker.core.settings import BrokerRole, BrokerSettings
from gantrymq.ha.disk import identity
from gantrymq.ha.disk.identity import Identity
from gantrymq.ha.election.election import UNCLEAN_SECONDS
from gantrymq.ha.lease.lease import DURATION_SECONDS, NO_MEMBER, Found, Lease, LeaseAnswer
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.member.member_settings import MemberSettings
from gantrymq.ha.protocol.handshake import Member as Name
from gantrymq.sim.checks.group_checks import Checks
from gantrymq.sim.checks.group_rules import Rules
from gantrymq.sim.group.group_administrator import Administrator
from gantrymq.sim.group.group_callers import Directory
from gantrymq.sim.group.group_clients import QUEUES, TOPIC, Consumer, Habits, Producer
from gantrymq.sim.group.group_renewer import Renewer
from gantrymq.sim.group.group_world import Life, World
from gantrymq.sim.group_troubles.maker import CALM_SECONDS, Troubles
from gantrymq.sim.group_troubles.plan import Plan
from gantrymq.sim.group_troubles.table import TROUBLES
from gantrymq.sim.nodes.group_lease_store import LeaseStore
from gantrymq.sim.nodes.group_member import SECRET, MemberReplica
from gantrymq.sim.nodes.group_namesrv import FIRST_NUMBER as FIRST_NAME_SERVER
from gantrymq.sim.nodes.group_namesrv import NameServerNode, Registrations
from gantrymq.sim.nodes.group_network import Network
from gantrymq.sim.nodes.group_node import HA_PORT, GroupSettings, Node, address
from gantrymq.sim.nodes.group_process import BrokerProcess
from gantrymq.store.engine import Store
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import ResponseCode

FILE_BYTES: Final = 1 << 15
# Behind the time in which it gets whole: consumers may rest for two seconds before they look again.
END_SECONDS: Final = 61.0
# When all is calm a member leads: a process is started anew within 3 s, waits for as long as a
# promise of an earlier life may hold, 4 s, and for better candidates.
HELP_SECONDS: Final = 10.0
LED_SECONDS: Final = 14.0
# When all is calm a group is whole within it, whatever happened before.
WHOLE_SECONDS: Final = 20.0
# A producer that is well has had an answer since then.
FRESH_SECONDS: Final = 3.0
RUSH_SECONDS: Final = 1.5
RUSH_SENDS_A_SECOND: Final = 1000.0
# No turn of these histories has as much as brokers wait for; in half of them each send is written
# at once, as what comes in a mass is.
GROUP_BYTES: Final = (1, GROUP_BYTES_MAX)
FIRST_TWIN: Final = 150
"""The number in the network of the first machine that claims another one's seat, and one less."""
BUSY: Final = ResponseCode.SYSTEM_BUSY.name


def store_settings(*, flushes: bool) -> StoreSettings:
    """Small files, so that there are several of each."""
    return StoreSettings(
        mapped_file_size_commit_log=FILE_BYTES,
        mapped_file_size_consume_queue=2000,
        max_hash_slot_num=50,
        max_index_num=200,
        message_index_enable=False,
        flush_disk_type=FlushDiskType.SYNC_FLUSH if flushes else FlushDiskType.ASYNC_FLUSH,
    )


@final
class Group:
    """All of one history."""

    def __init__(self, seed: int, plan: Plan) -> None:
        self._delay = 0.0
        self._twins = 0
        self.plan = plan
        self.habits = Habits()
        self.world = world = World(seed)
        self.network = Network(world, world.random("network"))
        self.leases = LeaseStore(world, self.network, world.random("lease store"))
        self.directory = Directory()
        self.directory.group = lambda: self.leases.endpoint[1]
        self.checks = Checks(
            world,
            self.leases,
            self.network,
            Rules(
                waits=plan.waits,
                flushes=plan.flushes,
                least=plan.min_in_sync,
                file_bytes=FILE_BYTES,
            ),
        )
        numbers = tuple(range(1, plan.members + 1))
        self.settings = GroupSettings(
            numbers,
            store_settings(flushes=plan.flushes),
            BrokerSettings(
                broker_role=BrokerRole.SYNC_MASTER if plan.waits else BrokerRole.ASYNC_MASTER
            ),
            world.random("group bytes").choice(GROUP_BYTES),
        )
        for index in range(self.habits.name_servers):
            NameServerNode(world, self.directory, index, plan.drift)
        self.nodes = {number: self._node(number) for number in numbers}
        shared = world, self.network, self.directory, self.habits
        self.producers = [Producer(*shared, index) for index in range(self.habits.producers)]
        self.consumers = [Consumer(*shared, index) for index in range(self.habits.consumers)]
        self.renewers = [Renewer(*shared, self.checks.tables.renewed)] if plan.renews else []
        askers = *self.producers, *self.consumers, *self.renewers, Administrator(*shared, 0)
        clients = [each.place.number for each in askers]
        names = [FIRST_NAME_SERVER + index for index in range(self.habits.name_servers)]
        everywhere = world, self.network, self.leases, self.nodes, self.checks
        self.troubles = Troubles(
            *everywhere,
            [*clients, *names],
            plan,
            kinds=TROUBLES,
            directory=self.directory,
            twin=self.twin,
        )

    def twin(self, seat: int) -> Node:
        """A second machine that claims this seat."""
        self._twins += 1
        return self._node(FIRST_TWIN + self._twins, seat)

    def _node(self, number: int, seat: int = 0) -> Node:
        node = Node(
            self.world,
            self.network,
            self.directory,
            self.checks,
            self.settings,
            number,
            self.plan.drift,
            self._assemble,
            seat=seat,
        )
        reaps = self.world.random(f"reaper {number}")
        node.reaped = lambda node: self.reap(node) if reaps.random() < 0.5 else None
        return node

    def _assemble(self, node: Node, process: BrokerProcess, store: Store, disk: FaultyDisk) -> None:
        """A member of the group; it knows the topic from its first day on."""
        if process.state.topics.find(TOPIC) is None:
            config = TopicConfig(TOPIC, read_queue_nums=4, write_queue_nums=4)
            process.state.topics.put(config, node.place.wall_ms)
        process.register = Registrations(process, self.habits.name_servers).changed
        numbers = node.configured or self.settings.members
        link = LinkSettings(
            Name("broker-a", node.seat, node.boot),
            SECRET,
            frozenset(numbers),
            waits=self.plan.waits,
            flushes=self.plan.flushes,
            min_in_sync=self.plan.min_in_sync,
        )
        settings = MemberSettings(
            link,
            {each: address(each, HA_PORT) for each in numbers}
            | {node.seat: address(node.number, HA_PORT)},
            address(node.number),
        )
        process.replica = MemberReplica(
            node, process, store, disk, self.leases, self.checks, settings
        )

    def reap(self, node: Node) -> None:
        """PID 1 gives the lease away once its broker is gone, unless that is doubted, and keeps
        the store locked until the lease store has answered, or for as long as the lease lasts."""
        if not node.network.is_up(node.number):
            return
        guard = node.guard = Life()
        place = node.place

        def end() -> None:
            guard.is_over = True

        def read(answer: LeaseAnswer) -> None:
            lease = (
                answer.lease
                if isinstance(answer, Found)
                else Lease(untrusted_reason="there is none")
            )
            known = identity.read(node.disk) or Identity()
            if lease.untrusted_reason is None and lease.is_held_by(node.seat, known.disk):
                self.leases.write(place, guard, released(lease), lambda _: end())
            else:
                end()

        self.leases.read(place, guard, read)
        place.after(DURATION_SECONDS, end, guard)

    # ------------------------------------------------------------------ its course

    def start(self) -> None:
        """All members do, and nothing befalls them."""
        for node in self.nodes.values():
            self.world.after(node.random.random(), node.start)

    def run(self) -> None:
        self.start()
        self.troubles.begin()
        self.world.run(CALM_SECONDS + HELP_SECONDS)
        if self._needs_help():
            self._help()
        self._run_to(CALM_SECONDS + LED_SECONDS)
        assert self._leaders(), f"no member leads {LED_SECONDS} s after all was calm"
        self.leases.change_requests(
            lambda operator_requests: replace(operator_requests, allows_unclean=False)
        )
        self.leases.fence(frozenset())  # a master may have made a Lease anew with older requests
        self._run_to(CALM_SECONDS + WHOLE_SECONDS)
        self._must_be_whole()
        ends = self._queue_ends()
        self._run_to(END_SECONDS - RUSH_SECONDS)
        self._must_take_a_rush()
        self._must_be_whole()
        self._must_have_everything()
        self._must_have_read(ends)
        if set(self.plan.weights) == {"lease outage"}:
            self._must_have_had_one_master()

    def _run_to(self, seconds: float) -> None:
        self.world.run(seconds + self._delay)

    def _needs_help(self) -> bool:
        """Where a disk of the set is lost, and what is left of the set may lack something,
        or the Lease cannot be believed, the group waits for an operator's word."""
        return self.checks.has_lost_a_disk and not self._leaders()

    def _help(self) -> None:
        """All that is promised of the time after it comes as much later as an unclean election
        waits."""
        self.world.tally["operators that had to allow a loss"] += 1
        self.leases.fence(frozenset())  # it may have been made anew since it was calm
        self.leases.change_requests(
            lambda operator_requests: replace(operator_requests, allows_unclean=True)
        )
        self._delay = UNCLEAN_SECONDS + DURATION_SECONDS

    def _leaders(self) -> list[int]:
        return [node.number for node in self.nodes.values() if node.process and node.process.epoch]

    def _must_have_had_one_master(self) -> None:
        """A lease store that is down stops no healthy group."""
        promotions = self.world.tally["promotions"]
        assert promotions == 1, f"{promotions} promotions, and nothing but the lease store was down"

    def _must_be_whole(self) -> None:
        """One master, all members in the set, and every producer is answered."""
        leaders = self._leaders()
        assert len(leaders) == 1, f"these lead: {leaders}"
        lease = self.leases.lease
        assert lease is not None, "there is no lease"
        assert lease.holder == leaders[0], f"{leaders} lead, and the lease says {lease.holder}"
        assert lease.in_sync == frozenset(self.nodes), f"in sync are only {sorted(lease.in_sync)}"
        endpoint = lease.epoch, address(lease.holder)
        assert self.leases.endpoint == endpoint, f"the address leads to {self.leases.endpoint}"
        for producer in self.producers:
            since = self.world.now - producer.last_ok
            assert since < FRESH_SECONDS, f"{producer.name} had no answer for {since:.1f} s"

    def _must_take_a_rush(self) -> None:
        """Nothing is left of what befell the group for which it would refuse a send that comes
        while another one waits."""
        refused = self._refused()
        self.habits.sends_a_second = RUSH_SENDS_A_SECOND
        self._run_to(END_SECONDS)
        assert self._refused() == refused, "sends are refused, and nothing is wrong any more"

    def _refused(self) -> int:
        """How often a producer was told that the broker is busy."""
        return sum(producer.outcomes[BUSY] for producer in self.producers)

    def _leader(self) -> Node:
        return next(node for node in self.nodes.values() if node.process and node.process.epoch)

    def _queue_ends(self) -> list[int]:
        """Where the queues of the master end."""
        process = self._leader().process
        assert process is not None
        queues = [process.state.store.queues.find(TOPIC, each) for each in range(QUEUES)]
        return [0 if queue is None else queue.end for queue in queues]

    def _must_have_read(self, ends: list[int]) -> None:
        """Consumers have gone on, and come as far as the queues went some seconds ago."""
        for consumer in self.consumers:
            assert all(map(ge, consumer.offsets, ends)), (
                f"{consumer.name} is at {consumer.offsets}, and queues had {ends}"
            )

    def _must_have_everything(self) -> None:
        leader = self._leader()
        acknowledged: dict[bytes, int] = {}
        for producer in self.producers:
            acknowledged.update(producer.acknowledged)
        for renewer in self.renewers:
            acknowledged.update(renewer.acknowledged)
        self.checks.whole(leader.number, acknowledged)
        for node in self.nodes.values():
            assert node.process is not None
            node.process.look_at_log()  # something may have come since its last turn
            queues, mirror = node.process.state.store.queues, self.checks.mirror(node.number)
            found = self.checks.tables.renewed.must_be_in(node.number, queues, mirror)
            self.world.tally["messages of topics made again"] += found
            self.checks.tables.renewed.must_go_on(node.number, queues, mirror)

    def tally(self) -> Counter[str]:
        """What happened how often."""
        tally = self.world.tally
        tally["steps"] = self.world.steps
        for producer in self.producers:
            for what, count in producer.outcomes.items():
                tally[f"sends: {what}"] += count
        tally["consumed"] = sum(consumer.read for consumer in self.consumers)
        return tally


def released(lease: Lease) -> Lease:
    """As a guard gives it away."""
    return replace(lease, holder=NO_MEMBER, address="", ha_address="", renewals=lease.renewals + 1)
