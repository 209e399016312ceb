"""What must be true of a replicated group, looked at whenever something leaves a broker.

A promise is a message that was answered SEND_OK, or that a consumer was given. All promises
together are one history: `top` is the last of it, and `history` says what the log was up to each of
its records. Held against it:

- each promise of a broker continues the history or lies in it; so no two masters ever promise
  different things, and nothing that was read changes
- each new master has all of it; each member of the set that the lease says has all of it
- nobody believes that it may acknowledge once another one leads a later epoch, and nobody
  acknowledges with fewer members than are asked for
- a master that has seen a later epoch than its own appends nothing
- only a member of the set before is promoted, unless the operator allowed otherwise, or
  nothing is on the disks of all of the set: they were replaced, or nothing was ever sent

A loss is excused where the operator allowed it. Where messages do not wait for disks it is also
excused where each member of the set had them, and lost them with its machine: both of the set that
they were promised in and of the one that the new master is chosen from. And this has as much as the
log of anybody of that set still has, whether its process runs or not. A master that was elected and
ended before it led does not count: its set may never have had them. Until then a member of the set
may lack what its machine lost, and nothing else. What a machine lost is read from its disk in the
moment the power goes, not taken from recovery, which must find all of it. If the lease was lost as
well, the logs of all members count. And whoever no master has taken in since such a loss may show a
consumer once more what was lost. A member of the set whose disk was replaced may lack what was on
the old one, until it has as much again, on the disk where messages wait for that; it may not lead,
for others have it. It may have been the one disk that had what its set was to keep when somebody
was let go: whoever was outside of the set by then does not count for what was promised before.
"""

from __future__ import annotations

import struct
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Protocol, final

from gantrymq.broker.core.state import State
from gantrymq.ha.lease import Lease
from gantrymq.sim.group_lease_store import LeaseStore
from gantrymq.sim.group_mirror import RENEWED, Mirror, Place, Stored
from gantrymq.sim.group_network import Network
from gantrymq.sim.group_renewed import Renewed
from gantrymq.sim.group_world import DRIFT_MAX, World
from gantrymq.store.entry import SCHEDULE_TOPIC

# As the rules have it; a constant of its own, so that another one in the product is noticed.
AUTHORITY_SECONDS: Final = 3.0

_HEAD: Final = struct.Struct(">i16xqq")


class Process(Protocol):
    """What is asked of a broker's process."""

    @property
    def number(self) -> int: ...

    @property
    def epoch(self) -> int:
        """That it leads; 0 while it does not."""

    @property
    def epoch_seen(self) -> int:
        """The highest it knows of."""

    @property
    def epoch_copied(self) -> int:
        """The latest of which its log has a beginning, as it knows since a master took it in."""

    @property
    def flushed(self) -> int:
        """How far its log is on its disk, for good."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a group promises."""

    waits: bool
    """Messages wait for members: else being told SEND_OK is no promise, nor being read."""
    flushes: bool
    """Messages wait for disks."""
    least: int
    """Members a message has to have."""
    file_bytes: int


@final
@dataclass(frozen=True, slots=True)
class _Election:
    """An epoch that the lease tells of; its master may end before it leads."""

    chosen_from: frozenset[int]
    """The set that the master was to be one of."""
    heard: frozenset[int] | None
    """Whose logs counted; None: everybody's."""


@final
class Checks:
    """Of one group."""

    def __init__(self, world: World, store: LeaseStore, network: Network, rules: Rules) -> None:
        self.created_topics: set[str] = set()
        """An administrator was told that they are there."""
        self.epoch = 0
        """The latest that was led."""
        self.mirrors: dict[int, Mirror] = {}
        self.renewed = Renewed()
        self.top: Stored | None = None
        self.history: dict[int, Stored] = {}
        self._elections: list[_Election] = []
        """The last one, and those before that nobody has led since."""
        self._was_without_lease = False
        """Nobody has led since there was an election that no lease said anything of."""
        self._flushes = rules.flushes
        self._gone: set[tuple[int, bytes]] = set()
        """Where they began, and the keys, of messages that were promised and lost, and excused."""
        self._lost: dict[tuple[int, int], int] = {}
        """What was promised and lost, and excused: the end and the digest of each record, and the
        epoch that began without it."""
        self._network = network
        self._promised_in: dict[int, frozenset[int]] = {}
        """The set that had each record of the history when it was promised."""
        self._read: dict[Place, int] = {}
        self._rules = rules
        self._store = store
        self._world = world
        self._lease: Lease | None = None
        self._taken: dict[int, dict[int, int]] = {}
        """What machines had and lost: the ends and digests of records. Forgotten once the log
        goes on, and as far again; that it starts with as much may be what is damaged."""
        self._true_set: frozenset[int] = frozenset()
        """What the lease said last when nobody had removed it, or put an old one in its place."""
        store.on_change = self._lease_changed

    def mirror(self, number: int) -> Mirror:
        if number not in self.mirrors:
            self.mirrors[number] = Mirror(self._rules.file_bytes)
        return self.mirrors[number]

    # ------------------------------------------------------------------ logs

    def appended(self, process: Process, records: list[Stored]) -> None:
        """These are new in its log."""
        if process.epoch and records:
            assert process.epoch_seen <= process.epoch, (
                f"member {process.number} appends in epoch {process.epoch}, and knows of"
                f" {process.epoch_seen}"
            )
        taken = self._taken.get(process.number)
        end = process.flushed if self._flushes else self.mirror(process.number).end
        if taken and records and end >= max(taken):
            del self._taken[process.number]

    def went_down(self, number: int, gone: list[Stored]) -> None:
        """Its machine did, and these records are not on its disk."""
        self._world.tally["records lost from a disk"] += len(gone)
        if not self._flushes:
            self._take(number, gone)
        self._look_at_disk(number, f"the machine of {number} of the set went down")

    def lost_its_disk(self, number: int, gone: list[Stored]) -> None:
        """Somebody replaced it, and these were on the old one, whether messages wait for it or
        not."""
        lease = self._store.truth
        if lease is not None and number in lease.in_sync:
            self._world.tally["new disks in the set"] += 1
            for end, members in self._promised_in.items():
                self._promised_in[end] = members & lease.in_sync
        self._take(number, gone)
        self._look_at_disk(number, f"the disk of {number} of the set was replaced")

    def _take(self, number: int, gone: list[Stored]) -> None:
        taken = self._taken.setdefault(number, {})
        taken.update((each.end, each.digest) for each in gone)

    def is_spare(self, number: int, running: AbstractSet[int]) -> bool:
        """Whether its disk may go and nothing is lost: all others of the set have all promises, and
        nothing of what machines lost is missing; of those who would be elected one runs."""
        lease = self._store.truth
        if lease is None:
            return False
        others = lease.in_sync - {number}
        is_led_on = number not in lease.in_sync or bool(others & running)
        return is_led_on and all(map(self._is_whole, others))

    def _is_whole(self, number: int) -> bool:
        has_all = self.top is None or self.mirror(number).has(self.top)
        return has_all and not self._taken.get(number)

    def reread(self, number: int, lost: int, *, was_cut: bool) -> None:
        """It starts, and so many records are gone that were on its disk: only those that were to
        be cut."""
        assert was_cut or not lost, f"member {number} starts without {lost} records of its disk"
        self._look_at_disk(number, f"{number} of the set starts")

    def _look_at_disk(self, number: int, what: str) -> None:
        """Where messages wait for disks, a member of the set has all promises there, whatever
        happened, unless it is another disk."""
        lease = self._store.truth
        if not self._flushes or lease is None or number not in lease.in_sync:
            return
        if lease.epoch == self.epoch or not self._store.allowed_unclean:
            self._must_have_all(frozenset({number}), what)

    # ------------------------------------------------------------------ promises

    def acknowledged(
        self, process: Process, position: int, queue_id: int, queue_offset: int
    ) -> None:
        """SEND_OK leaves this broker: the message is where it says. What is to be delivered later
        lies in another queue until then."""
        record = self.mirror(process.number).at(position)
        who = f"member {process.number}, epoch {process.epoch}"
        if not process.epoch:
            if not self._rules.waits:
                return
            is_stored = any(each.start == position for each in self.history.values())
            is_gone = any(start == position for start, _ in self._gone)  # lost on the answer's way
            assert is_stored or is_gone, (
                f"{who}: passes on SEND_OK for {position}, which nobody has promised"
            )
            return
        assert record is not None, f"{who}: SEND_OK for {position}, where no record is"
        told = Place(record.place.topic, queue_id, queue_offset)
        if record.place.topic == SCHEDULE_TOPIC:
            told = Place(SCHEDULE_TOPIC, record.place.queue_id, queue_offset)
        assert record.place == told, f"{who}: SEND_OK for {told}, but {record} is stored"
        assert process.epoch == self.epoch, f"{who}: acknowledges, and epoch {self.epoch} has begun"
        lease = self._store.truth
        if lease is not None:
            is_enough = len(lease.in_sync) >= self._rules.least or not self._rules.waits
            assert is_enough, f"{who}: SEND_OK with {lease.in_sync} in sync"
        self._promise(process, record, f"{who}: SEND_OK for {record.key!r}")
        self._world.tally["acknowledged"] += 1

    def handed_out(self, process: Process, body: bytes) -> None:
        """A consumer gets these records."""
        at = 0
        mirror = self.mirror(process.number)
        while at < len(body):
            size, _, position = _HEAD.unpack_from(body, at)
            record = mirror.up_to(position + size)
            assert record is not None, f"member {process.number} hands out what is not in its log"
            at += size
            if not process.epoch and self._goes_through_a_loss(process, mirror, record):
                self._world.tally["read what was lost"] += 1
                continue
            self._world.tally["read"] += 1
            if not self._rules.waits:
                continue
            self._promise(process, record, f"member {process.number}: reads {record.key!r}")
            known = self._read.setdefault(record.place, record.digest)
            assert known == record.digest, f"two messages at {record.place} were read"

    def _goes_through_a_loss(self, process: Process, mirror: Mirror, record: Stored) -> bool:
        """Whether up to there the log is one that was lost, that nobody has promised again, and
        that no later master has looked at."""
        for (end, digest), epoch in self._lost.items():
            own, promised = mirror.up_to(end), self.history.get(end)
            is_ours = end <= record.end and own is not None and own.digest == digest
            is_gone = promised is None or promised.digest != digest
            if is_ours and is_gone and process.epoch_copied < epoch:
                return True
        return False

    def _promise(self, process: Process, record: Stored, what: str) -> None:
        if not self._rules.waits:
            return
        mirror, top = self.mirror(process.number), self.top
        if top is not None and record.end <= top.end:
            known = self.history.get(record.end)
            assert known is not None, f"{what}, which the group's history does not have"
            assert known.digest == record.digest, f"{what}, where the history has {known.key!r}"
            return
        assert top is None or mirror.has(top), f"{what}, and lacks {top}"
        for each in mirror.from_(0 if top is None else top.end):
            if each.end > record.end:
                break
            self.history[each.end] = each
            self._promised_in[each.end] = self._true_set
        self.top = record
        self._look_at_set(what)

    def _look_at_set(self, what: str) -> None:
        """Whoever may be elected has it."""
        lease = self._store.truth
        if lease is not None:
            self._must_have_all(lease.in_sync, what)

    def _must_have_all(self, members: frozenset[int], what: str) -> None:
        if self.top is None or self._store.truth is None:
            return
        for number in sorted(members):
            mirror = self.mirror(number)
            assert mirror.has(self.top) or self._is_taken(number, self.top), (
                f"{what}, but member {number} lacks {self.top.key!r}: its log ends at {mirror.end}"
            )

    def _is_taken(self, number: int, record: Stored) -> bool:
        """Whether its machine had all up to there, and lost it."""
        return self._taken.get(number, {}).get(record.end) == record.digest

    # ------------------------------------------------------------------ masters

    def leads(self, process: Process, epoch: int) -> None:
        """It is master from now on."""
        assert epoch > self.epoch, f"member {process.number} leads {epoch} behind {self.epoch}"
        self.epoch = epoch
        self._world.tally["promotions"] += 1
        mirror, top = self.mirror(process.number), self.top
        if top is None or mirror.has(top):
            return
        common = self._common(mirror)
        what = f"member {process.number} leads epoch {epoch} without {top}; it has {common}"
        self._must_be_excused(top, common, what)
        self._world.tally["excused losses"] += 1
        self._world.tell(f"excused: {what}")
        self._forget(common)

    def has_authority(self, process: Process, now: float) -> None:
        """It would acknowledge now, which is by its own clock."""
        assert process.epoch == self.epoch, (
            f"member {process.number} believes in its epoch {process.epoch}, and epoch"
            f" {self.epoch} has begun"
        )
        self._was_renewed_in_time(process, now)

    def _was_renewed_in_time(self, process: Process, now: float) -> None:
        """Else everybody in the set has promised: whom it cannot talk to for so long has not."""
        since = now - self._store.renewed_at.get(process.number, 0.0)
        lease = self._store.truth
        if since <= AUTHORITY_SECONDS or lease is None:
            return
        self._world.tally["looks at a master on promises"] += 1
        for other in lease.in_sync - {process.number}:
            ways = (process.number, other), (other, process.number)
            cut = max(self._network.cut_for(*way) for way in ways)
            assert cut <= AUTHORITY_SECONDS * (1.0 + DRIFT_MAX), (
                f"member {process.number} believes that it may acknowledge: its lease was renewed"
                f" {since:.2f} s ago, and member {other}, which might take it, cut off {cut:.2f} s"
            )

    # ------------------------------------------------------------------ tables

    def created(self, topic: str) -> None:
        """An administrator is told that it is there."""
        self._world.tally["topics created"] += 1
        if not topic.startswith(RENEWED.decode()):  # which may be deleted again when it is told
            self.created_topics.add(topic)

    def deletes(self, process: Process, topic: str) -> None:
        """It is asked to."""
        self._world.tally["topics to be deleted"] += 1
        self.renewed.delete(process.number, topic)

    def tables_are_kept(self, process: Process, state: State) -> None:
        """A new master knows all topics of which somebody was told that they are there."""
        lacking = {each for each in self.created_topics if state.topics.find(each) is None}
        if self._was_without_lease or self._store.allowed_unclean:
            self.created_topics -= lacking
        self._was_without_lease = False
        assert not lacking & self.created_topics, (
            f"member {process.number} leads epoch {self.epoch} without {sorted(lacking)}"
        )

    def offsets_are_clamped(self, process: Process, state: State) -> None:
        """No group is ahead of what there is."""
        for group, topic, queues in state.offsets.places():
            for queue_id, offset in queues.items():
                queue = state.store.queues.find(topic, queue_id)
                end = 0 if queue is None else queue.end
                assert offset <= end, (
                    f"member {process.number} leads, {group} is at {offset} of {topic} {queue_id},"
                    f" which ends at {end}"
                )

    def _common(self, mirror: Mirror) -> int:
        """Up to where the history is in this log."""
        return max((end for end, each in self.history.items() if mirror.has(each)), default=0)

    def _must_be_excused(self, top: Stored, common: int, what: str) -> None:
        """A master begins that lacks what lies behind `common`."""
        if self._store.allowed_unclean:
            return
        assert not self._flushes, what
        faults = [self._fault(election, top, common) for election in self._elections]
        assert not all(faults), f"{what}{faults[-1]}"
        for record in self.history.values():
            members = self._promised_in[record.end] if record.end > common else ()
            left = [number for number in sorted(members) if not self._is_taken(number, record)]
            assert not left, (
                f"{what}; {record} was promised in {set(members)}, and member {left[0]} did not"
                " lose it"
            )

    def _fault(self, election: _Election, top: Stored, common: int) -> str:
        """Why that one excuses no loss of what lies behind `common`; "" where it does."""
        for number in sorted(election.chosen_from):
            if not self._is_taken(number, top):
                return f"; member {number} did not lose it"
        heard = self.mirrors.keys() if election.heard is None else election.heard
        for number in sorted(heard):
            other = self._common(self.mirror(number))
            if other > common:
                return f", and member {number} has {other}"
        return ""

    def _forget(self, common: int) -> None:
        """What lies behind was lost."""
        lost = [each for end, each in self.history.items() if end > common]
        self._lost.update({(each.end, each.digest): self.epoch for each in lost})
        self._gone.update((each.start, each.key) for each in lost)
        self.history = {end: each for end, each in self.history.items() if end <= common}
        self.top = self.history.get(common)
        digests = {each.digest for each in self.history.values()}
        self._read = {place: digest for place, digest in self._read.items() if digest in digests}

    def _lease_changed(self, lease: Lease | None) -> None:
        if lease is None or not lease.in_sync:
            return  # there is none, or it says nothing
        before, self._lease = self._lease, lease
        if before is None:
            self._true_set = lease.in_sync
            return
        is_known = self._store.truth_before is not None
        if is_known and not self._store.allowed_unclean:
            self._must_have_all(lease.in_sync - before.in_sync, f"the lease names {lease.in_sync}")
        if len(lease.in_sync) != len(before.in_sync):
            grown = len(lease.in_sync) > len(before.in_sync)
            self._world.tally["grows" if grown else "shrinks"] += 1
        if lease.epoch > before.epoch:
            if before.epoch <= self.epoch:
                self._elections.clear()
            self._elections.append(_Election(self._true_set, self._true_set if is_known else None))
            self._was_without_lease |= not is_known
        if self._store.truth is not None:
            self._true_set = lease.in_sync
        if lease.epoch > before.epoch and lease.holder != before.holder:
            self._world.tally["failovers"] += 1
        if lease.epoch > before.epoch and is_known:
            is_member = lease.holder in before.in_sync and lease.holder not in before.fenced
            is_empty = not any(self.mirror(each).records for each in before.in_sync)
            assert is_member or is_empty or self._store.allowed_unclean, (
                f"member {lease.holder} was elected from outside of {sorted(before.in_sync)},"
                f" fenced {sorted(before.fenced)}"
            )

    # ------------------------------------------------------------------ the end

    def whole(self, master: int, received: dict[bytes, int]) -> None:
        """All who were told SEND_OK find their messages in the last master's log."""
        mirror = self.mirror(master)
        assert self.top is None or mirror.has(self.top)
        if not self._rules.waits:
            return
        for key, position in received.items():
            if (position, key) in self._gone:
                continue
            record = mirror.at(position)
            assert record is not None, f"{key!r} was acknowledged at {position}: nothing is there"
            assert record.key == key, f"{key!r} was acknowledged at {position}: {record} is there"
