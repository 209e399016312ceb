"""A group of members in one process, in virtual time: real stores, links and agents."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import count
from typing import Final, final

from gantrymq.fakes.groups.lease_store import LeaseStore
from gantrymq.fakes.groups.slow_api import SlowApi
from gantrymq.fakes.stores.store import SETTINGS, OpenedStore, message
from gantrymq.ha.election.actions import (
    Connect,
    Disconnect,
    Publish,
    ReadLease,
    Restart,
    WriteLease,
    WriteLogLine,
)
from gantrymq.ha.lease.lease import LeaseAnswer, Unanswered
from gantrymq.ha.member.links.link_settings import LinkSettings
from gantrymq.ha.member.member import Member
from gantrymq.ha.member.member_settings import MemberSettings
from gantrymq.ha.protocol.handshake import Member as Name
from gantrymq.ha.protocol.proofs import GroupSecret
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.record.put_status import PutStatus
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk

STEP: Final = 0.02
# No two are the same, whatever group, member or life they are of: disks are named by them.
NONCES: Final = count(1)
SECRET: Final = GroupSecret(b"a secret of the group")


@final
class FakeRoles:
    """What a broker would do: the store takes messages, or copies."""

    def __init__(self, opened: OpenedStore) -> None:
        self.is_leading = False
        self.is_paused = False
        self.master = ""
        self.parked: list[int] = []
        """Messages that wait for a master, and are written at once when this member leads."""
        self.told: list[PutAnswer] = []
        self.taken: dict[str, bytes] = {}
        self.said: dict[str, bytes] = {}
        self.unstored: set[str] = set()
        self._store = opened.store

    def lead(self, epoch: int, now: float, wall_ms: int) -> None:
        self._store.lead(now)
        self.is_leading, self.is_paused = True, False
        for number in self.parked:
            self._store.put(message(number))
            self.told += self._store.turn(now, wall_ms).answers

    def pause(self, now: float, wall_ms: int, *, is_paused: bool) -> None:
        self.is_paused = is_paused

    def follow(self, now: float, wall_ms: int) -> None:
        self._store.follow(wall_ms)
        self.is_leading = False

    def master_is(self, address: str, now: float, wall_ms: int) -> None:
        self.master = address

    def tables(self) -> Mapping[str, bytes]:
        return self.said

    def take_table(self, name: str, content: bytes, now: float, wall_ms: int) -> None:
        self.taken[name] = content

    @property
    def unstored_tables(self) -> frozenset[str]:
        return frozenset(self.unstored)

    @property
    def may_lead(self) -> bool:
        return True


@final
class Node:
    """One member, its disk, and its process."""

    def __init__(self, group: Group, number: int) -> None:
        self.boot = "boot-1"
        self.disk = FaultyDisk()
        self.group = group
        self.is_stuck = False
        """Whether its disk does not answer."""
        self.is_up = False
        self.number = number
        self.wants_restart = ""
        self.words: list[str] = []
        self.published = 0
        self.acknowledged: list[int] = []
        """Numbers of messages that were answered PUT_OK while that may leave."""
        self._asked: dict[int, int] = {}
        self.start()

    def start(self) -> None:
        self.opened = OpenedStore(self.disk, self.group.settings, is_copy=True)
        self.opened.now = self.group.now
        self.roles = FakeRoles(self.opened)
        number = self.number
        link = LinkSettings(
            Name("g", number, self.boot),
            SECRET,
            frozenset(self.group.numbers),
            waits=self.group.waits,
            min_in_sync=self.group.min_in_sync,
        )
        addresses = {each: f"m{each}:10912" for each in self.group.numbers}
        settings = MemberSettings(link, addresses, f"m{number}:10911")
        self.member = Member(
            settings,
            self.disk,
            self.opened.store,
            self.roles,
            lambda: next(NONCES).to_bytes(16, "big"),
            self.boot,
            self.group.now,
        )
        self.is_up = True
        self.wants_restart = ""

    def kill(self) -> None:
        """kill -9: what was written stays."""
        self._die()
        self.disk = self.disk.kill()

    def lose_power(self) -> None:
        """What was not synced may be lost, and the machine has started anew when it comes back."""
        self._die()
        self.disk = self.disk.crash()
        self.boot += "'"

    def _die(self) -> None:
        self.is_up = False
        self.group.cut_off(self)
        self._asked.clear()

    def put(self, number: int) -> bool:
        """Whether it was taken."""
        if not self.is_up or not self.roles.is_leading or self.roles.is_paused:
            return False
        taken = self.opened.store.put(message(number))
        if not isinstance(taken, int):
            return False
        self._asked[taken] = number
        return True

    def turn(self) -> None:
        now = self.opened.now = self.group.now
        if not self.is_stuck:
            self.opened.background.complete_all()
        for answer in self.opened.turn().answers:
            number = self._asked.pop(answer.number, None)
            if number is None:
                continue  # it was parked
            if answer.status is PutStatus.PUT_OK and now < self.member.lease_deadline(now):
                self.acknowledged.append(number)
        wall_ms = int(1_700_000_000_000 + now * 1000)
        for _ in range(20):
            self.member.turn(now, wall_ms)
            if not self._act() and not self.member.is_due:
                break
        self.group.send(self)

    def _act(self) -> bool:
        actions = self.member.take_actions()
        for action in actions:
            match action:
                case ReadLease() | WriteLease():
                    self.group.ask_lease(self, action)
                case Connect(link, address):
                    self.group.dial(self, link, address)
                case Disconnect(link, reason):
                    self.words.append(f"hang up: {reason}")
                    self.group.disconnect(self, link)
                case Publish(epoch):
                    self.published = epoch
                    self.member.published(epoch, is_done=True)
                case Restart(reason):
                    self.wants_restart = reason
                case WriteLogLine(text):
                    self.words.append(text)
        return bool(actions)

    def bodies(self) -> list[int]:
        return [int(each.removeprefix(b"body ")) for each in self.opened.bodies()]

    @property
    def is_master(self) -> bool:
        return self.is_up and bool(self.member.epoch)


@final
class Group:
    """All members, the network between them, and the lease."""

    def __init__(
        self,
        *numbers: int,
        waits: bool = True,
        min_in_sync: int = 1,
        settings: StoreSettings = SETTINGS,
    ) -> None:
        self.bytes_a_step: dict[int, int] = {}
        """So much gets to these members in a step."""
        self.lease = LeaseStore()
        self.slow_api: SlowApi | None = None
        """What stands between members and the lease; None: nothing does."""
        self.min_in_sync = min_in_sync
        self.now = 100.0
        self.numbers = numbers
        self.parted: set[frozenset[int]] = set()
        self.off_lease: set[int] = set()
        self.settings = settings
        self.waits = waits
        self.write_answers_late = 0.0
        """Seconds after the lease was written until its writer hears so."""
        self._answers: deque[tuple[float, Member, int, LeaseAnswer]] = deque()
        self._pipes: dict[tuple[int, int], tuple[int, int]] = {}
        """(member, its link) to the other end."""
        self._flying: deque[tuple[tuple[int, int], bytes]] = deque()
        self.nodes = {each: Node(self, each) for each in numbers}

    def run(self, seconds: float) -> None:
        until = self.now + seconds - 1e-9
        while self.now < until:
            self.now = round(self.now + STEP, 6)
            self.step()

    def step(self) -> None:
        if self.slow_api is not None:
            self.slow_api.step(self.now)
        while self._answers and self._answers[0][0] <= self.now:
            _, member, number, answer = self._answers.popleft()
            member.lease_answered(number, answer, self.now)
        for node in self.nodes.values():
            if node.is_up:
                node.turn()
        self._fly()
        for node in self.nodes.values():
            if node.wants_restart:
                node.words.append(f"restart: {node.wants_restart}")
                node.kill()
                node.start()

    def _fly(self) -> None:
        """What was sent arrives, as much as there is room for."""
        room = dict(self.bytes_a_step)
        flying, self._flying = self._flying, deque()
        for end, data in flying:
            node = self.nodes[end[0]]
            taken = data[: room.get(node.number, len(data))]
            if node.number in room:
                room[node.number] -= len(taken)
            if len(taken) < len(data):
                self._flying.append((end, data[len(taken) :]))
            if taken and end in self._pipes and node.is_up:
                node.member.received(end[1], taken, self.now)

    def until(self, what: str, seconds: float = 30.0) -> None:
        """Run until there is a master, and all follow it, as `what` says."""
        limit = self.now + seconds
        while self.now < limit:
            self.run(STEP)
            if self.is_well() if what == "well" else self.master is not None:
                return
        raise AssertionError(f"not {what} in {seconds} s: {self.story()}")

    def is_well(self) -> bool:
        up = frozenset(each for each, node in self.nodes.items() if node.is_up)
        lease = self.lease.lease
        return self.master is not None and lease is not None and lease.in_sync == up

    @property
    def master(self) -> Node | None:
        return next((each for each in self.nodes.values() if each.is_master), None)

    def story(self) -> str:
        lines = [f"lease {self.lease.lease}"]
        for number, node in self.nodes.items():
            lines += [f"{number}: {word}" for word in node.words[-12:]]
        return "\n".join(lines)

    # ------------------------------------------------------------------ the network

    def ask_lease(self, node: Node, action: ReadLease | WriteLease) -> None:
        if self.slow_api is not None:
            self.slow_api.ask(node.member, action, self.now)
            return
        if node.number in self.off_lease:
            answer: LeaseAnswer = Unanswered("no route to host")
        else:
            answer = self.lease.carry_out(action)
        if isinstance(action, WriteLease) and self.write_answers_late:
            at = self.now + self.write_answers_late
            self._answers.append((at, node.member, action.number, answer))
        else:
            node.member.lease_answered(action.number, answer, self.now)

    def dial(self, node: Node, link: int, address: str) -> None:
        other = self.nodes[int(address.removeprefix("m").partition(":")[0])]
        if not other.is_up or frozenset({node.number, other.number}) in self.parted:
            node.member.closed(link, self.now)
            return
        theirs = other.member.opened(f"m{node.number}:4711", self.now)
        if theirs is None:
            node.member.closed(link, self.now)
            return
        mine, yours = (node.number, link), (other.number, theirs)
        self._pipes[mine], self._pipes[yours] = yours, mine
        node.member.connected(link, self.now)

    def send(self, node: Node) -> None:
        for link in node.member.links:
            end = self._pipes.get((node.number, link))
            if end is None or frozenset({node.number, end[0]}) in self.parted:
                continue
            data = b"".join(node.member.take_output(link))
            if data:
                self._flying.append((end, data))

    def disconnect(self, node: Node, link: int) -> None:
        for data in [b"".join(node.member.take_output(link))]:
            end = self._pipes.get((node.number, link))
            if data and end is not None:
                self.nodes[end[0]].member.received(end[1], data, self.now)
        other = self._pipes.pop((node.number, link), None)
        if other is not None:
            self._pipes.pop(other, None)
            if self.nodes[other[0]].is_up:
                self.nodes[other[0]].member.closed(other[1], self.now)

    def cut_off(self, node: Node) -> None:
        for number, link in [each for each in self._pipes if each[0] == node.number]:
            other = self._pipes.pop((number, link), None)
            if other is not None:
                self._pipes.pop(other, None)
                if self.nodes[other[0]].is_up:
                    self.nodes[other[0]].member.closed(other[1], self.now)

    def part(self, *members: int) -> None:
        """These are cut off from all others."""
        for each in members:
            for other in set(self.numbers) - set(members):
                self.parted.add(frozenset({each, other}))
