"""Runs the real member code between the simulated network and the simulated lease store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, final

from gantrymq.broker.core.broker import Broker
from gantrymq.ha.election.actions import (
    Action,
    Connect,
    Disconnect,
    Publish,
    ReadLease,
    Restart,
    WriteLease,
    WriteLogLine,
)
from gantrymq.ha.lease.lease import LeaseAnswer
from gantrymq.ha.member.member import Member
from gantrymq.ha.member.member_settings import MemberSettings
from gantrymq.ha.protocol.proofs import GroupSecret
from gantrymq.sim.checks.group_checks import Checks
from gantrymq.sim.group.group_world import Do
from gantrymq.sim.nodes.group_lease_store import LeaseStore
from gantrymq.sim.nodes.group_network import End
from gantrymq.sim.nodes.group_node import HA_PORT, Node, address
from gantrymq.sim.nodes.group_process import BrokerProcess
from gantrymq.store.engine import Store
from gantrymq.testing.faulty_disk import FaultyDisk

SECRET: Final = GroupSecret(b"the secret of the group")


@final
class WatchedRoles:
    """The broker's roles, and the listeners to them."""

    def __init__(self, process: BrokerProcess, checks: Checks) -> None:
        self._checks = checks
        self._core: Broker = process.core
        self._process = process

    def lead(self, epoch: int, now: float, wall_ms: int) -> None:
        process = self._process
        process.look_at_log()
        process.epoch = epoch
        self._checks.leads(process, epoch)
        self._core.lead(epoch, now, wall_ms)
        self._checks.tables_are_kept(process, process.state)

    def pause(self, now: float, wall_ms: int, *, is_paused: bool) -> None:
        self._core.pause(now, wall_ms, is_paused=is_paused)

    def follow(self, now: float, wall_ms: int) -> None:
        process = self._process
        process.look_at_log()
        if process.epoch:
            process.place.world.tell(f"{process.place.name} leads no more")
        process.epoch = 0
        self._core.follow(now, wall_ms)

    def master_is(self, address: str, now: float, wall_ms: int) -> None:
        self._core.master_is(address, now, wall_ms)

    def tables(self) -> Mapping[str, bytes]:
        return self._core.tables()

    def take_table(self, name: str, content: bytes, now: float, wall_ms: int) -> None:
        self._core.take_table(name, content, now, wall_ms)

    @property
    def unstored_tables(self) -> AbstractSet[str]:
        return self._core.unstored_tables

    @property
    def may_lead(self) -> bool:
        return self._core.may_lead


@final
class MemberReplica:
    """The member of the group that one broker process runs."""

    def __init__(
        self,
        node: Node,
        process: BrokerProcess,
        store: Store,
        disk: FaultyDisk,
        leases: LeaseStore,
        checks: Checks,
        settings: MemberSettings,
    ) -> None:
        self.lease_deadline = float("-inf")
        self._ends: dict[int, End] = {}
        self._leases = leases
        self._network = node.network
        self._node = node
        self._process = process
        random = node.random
        self.member = Member(
            settings,
            disk,
            store,
            WatchedRoles(process, checks),
            lambda: random.randbytes(16),
            node.boot,
            process.place.monotonic,
        )
        process.state.members = self
        checks.volumes[self.member.context.identity.disk] = process.key
        node.network.listen(node.number, HA_PORT, self._accept)

    @property
    def epoch_seen(self) -> int:
        return self.member.member_report().epoch

    @property
    def epoch_copied(self) -> int:
        epochs = self.member.member_report().epochs
        return epochs[-1].number if epochs else 0

    @property
    def is_released(self) -> bool:
        return self.member.is_released

    def release(self) -> None:
        """SIGTERM."""
        self.member.leave(self._now)
        self._process.turn_soon()

    def deadline(self, now: float) -> float:
        return self.member.deadline(now)

    def turn(self, now: float, wall_ms: int) -> None:
        """As the real host has it: what it wants done, then what it wants said."""
        member, process = self.member, self._process
        member.turn(now, wall_ms)
        process.look_at_log()
        self.lease_deadline = member.lease_deadline(now)
        for action in member.take_actions():
            self._do(action)
            if process.life.is_over:
                return
        for link in member.links:
            pieces = member.take_output(link)
            if pieces:
                self._send(link, pieces)
        if member.is_due:
            process.turn_soon()

    def _send(self, link: int, pieces: Sequence[bytes]) -> None:
        end = self._ends.get(link)
        if end is not None:
            end.send(b"".join(pieces))
            if end.is_held_up:
                self.member.is_held_up(link, is_held_up=True)

    # ------------------------------------------------------------------ what the broker asks

    @property
    def epoch(self) -> int:
        return self.member.seen_epoch

    def spread(self) -> int:
        self._process.turn_soon()
        return self.member.spread(self._now)

    def lacking(self, number: int) -> Sequence[str]:
        return self.member.lacking(number)

    @property
    def _now(self) -> float:
        return self._process.place.monotonic

    # ------------------------------------------------------------------ actions

    def _do(self, action: Action) -> None:
        process = self._process
        place, life = process.place, process.life
        match action:
            case ReadLease(number):
                self._leases.read(place, life, partial(self._lease_answered, number))
            case WriteLease(number, lease):
                self._leases.write(place, life, lease, partial(self._lease_answered, number))
            case Publish(epoch):
                mine = address(place.number)
                self._leases.publish(place, life, epoch, mine, partial(self._published, epoch))
            case Connect(link, where):
                self._dial(link, where)
            case Disconnect(link, reason):
                self._disconnect(link, reason)
            case Restart(reason):
                place.world.tally["restarts of their own"] += 1
                process.ended(f"wants a new start: {reason}")
            case WriteLogLine(text, is_warning):
                place.world.tell(f"{place.name}{' warns' if is_warning else ''}: {text}")

    def _lease_answered(self, number: int, answer: LeaseAnswer) -> None:
        self._enter(lambda: self.member.lease_answered(number, answer, self._now))

    def _published(self, epoch: int, is_done: bool) -> None:
        self._enter(lambda: self.member.published(epoch, is_done=is_done))

    def _enter(self, do: Do) -> None:
        """In the process, with a turn behind it; at once where that ends our reign."""
        self._process.enter(partial(self._with_turn, do))

    def _with_turn(self, do: Do) -> None:
        process = self._process
        do()
        if self.member.has_lost_role:
            process.replica_turn(self._now, process.place.wall_ms)
        process.turn_soon()

    # ------------------------------------------------------------------ links

    def _dial(self, link: int, where: str) -> None:
        process = self._process
        name = int(where.partition(":")[0].rpartition(".")[2])
        self._network.connect(
            process.place,
            process.life,
            self._node.directory.seats.get(name, name),
            HA_PORT,
            partial(self._connected, link),
            lambda: self._enter(lambda: self.member.closed(link, self._now)),
        )

    def _connected(self, link: int, end: End) -> None:
        self._own(link, end)
        self._enter(lambda: self.member.connected(link, self._now))

    def _accept(self, end: End) -> bool:
        """A peer has connected."""
        link = self.member.opened(f"10.0.0.{end.place.number}:40000", self._now)
        if link is None:
            return False
        end.place, end.life = self._process.place, self._process.life
        self._own(link, end)
        self._process.turn_soon()
        return True

    def _own(self, link: int, end: End) -> None:
        self._ends[link] = end
        end.received = partial(self._received, link)
        end.closed = partial(self._closed, link)
        end.drained = lambda: self._enter(lambda: self.member.is_held_up(link, is_held_up=False))

    def _received(self, link: int, data: bytes) -> None:
        if link in self._ends:
            self._enter(partial(self._hear, link, data))

    def _hear(self, link: int, data: bytes) -> None:
        """As the real host has it: of the log alone the core does not hear by itself."""
        self.member.received(link, data, self._now)
        self._process.core.log_moves()

    def _closed(self, link: int) -> None:
        if self._ends.pop(link, None) is not None:
            self._enter(lambda: self.member.closed(link, self._now))

    def _disconnect(self, link: int, reason: str) -> None:
        end = self._ends.pop(link, None)
        self._process.place.world.tell_traffic(
            f"{self._process.place.name} hangs up link {link}: {reason}"
        )
        if end is not None:
            end.close()
