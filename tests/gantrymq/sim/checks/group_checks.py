"""What must be true of a replicated group, looked at whenever something leaves a broker.

A promise is a message that was answered SEND_OK, or that a consumer was given. All promises
together are one history: `top` is the last of it, and `history` says what the log was up to each of
its records. Held against it:

- each promise of a broker continues the history or lies in it; so no two masters ever promise
  different things, and nothing that was read changes
- each new master has all of it; each member of the set that the Lease says has all of it, when the
  answer was decided and when it leaves
- no member believes that it may acknowledge once another one leads a later epoch, and none
  acknowledges with fewer members than are asked for
- a master that has seen a later epoch than its own appends nothing
- only a member of the set before is promoted, with the disk that the Lease gives to its seat; or
  the operator allowed otherwise; or nothing is on the disks of all of the set
- the volume of another group never leads, nothing is copied to it or from it, and nothing is cut
  from it; and no member knows of an epoch that no member has written

Which losses are excused is in group_losses.py, and when a master may believe in its authority in
group_authority.py. What a machine lost is read from its disk in the moment the power goes, not
taken from recovery, which must find all of it. Until a master begins without it, a member of the
set may lack what its volume lost, and nothing else.

A master whose clocks stood still cannot know that its time is over. It may believe in its epoch
until that is over by its own clock; what it acknowledges must be in the history all the same.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final, final

from gantrymq.broker.core.state import State
from gantrymq.ha.lease.lease import Lease
from gantrymq.sim.checks.group_authority import AuthorityCheck
from gantrymq.sim.checks.group_losses import Election, Keys, Losses, common_end
from gantrymq.sim.checks.group_mirror import Mirror, Place, Stored
from gantrymq.sim.checks.group_rules import Process, Rules
from gantrymq.sim.group.group_tables import TableChecks
from gantrymq.sim.group.group_world import World
from gantrymq.sim.nodes.group_lease_store import LeaseStore
from gantrymq.sim.nodes.group_network import Network
from gantrymq.sim.nodes.group_volumes import FOREIGN, FOREIGN_TOPIC
from gantrymq.store.record.dispatch_entry import SCHEDULE_TOPIC

_HEAD: Final = struct.Struct(">i16xqq")


@final
class Checks:
    """Checks the promises of one group while a history runs."""

    def __init__(self, world: World, store: LeaseStore, network: Network, rules: Rules) -> None:
        self.epoch = 0
        """The latest that was led."""
        self.has_lost_a_disk = False
        """Whether one of the set, or of the set before, by which a member may still go, is gone for
        good: another one may have to be believed unheard."""
        self.history: dict[int, Stored] = {}
        self.mirrors: dict[int, Mirror] = {}
        self.tables = TableChecks(world)
        self.top: Stored | None = None
        self.volumes: dict[str, int] = {}
        """The key of each volume, by the UUID of its disk; of others it is the seat's number."""
        self._authority = AuthorityCheck(world, store, network, self.keys)
        self._flushes = rules.flushes
        self._lease: Lease | None = None
        self._losses = Losses(self.mirrors, self.mirror)
        self._read: dict[Place, int] = {}
        self._rules = rules
        self._store = store
        self._true_set: Keys = frozenset()
        """What the lease said last before an administrator removed it, edited it or put an old
        one in its place."""
        self._true_before: Keys = frozenset()
        """And before that: the master may not have heard yet of the last change."""
        self._was_without_lease = False
        """No member has led since an election that no lease mentioned."""
        self._world = world
        store.on_change = self._lease_changed

    def mirror(self, key: int) -> Mirror:
        if key not in self.mirrors:
            self.mirrors[key] = Mirror(self._rules.file_bytes)
        return self.mirrors[key]

    def keys(self, lease: Lease, seats: Iterable[int] | None = None) -> Keys:
        """The volumes that the Lease gives to its set, or to these seats of it."""
        chosen = lease.in_sync if seats is None else seats
        return frozenset(self.volumes.get(lease.disks.get(seat, ""), seat) for seat in chosen)

    @property
    def known_lease(self) -> Lease | None:
        """What it says; None where that is not to be trusted."""
        return self._store.truth

    # ------------------------------------------------------------------ logs

    def appended(self, process: Process, records: list[Stored]) -> None:
        """These are new in its log."""
        if not records:
            return
        assert process.key < FOREIGN, f"{records[0]} is copied to the volume of another group"
        foreign = FOREIGN_TOPIC.encode()
        assert all(each.place.topic != foreign for each in records), (
            f"member {process.number} copies from the volume of another group"
        )
        if process.epoch:
            assert process.epoch_seen <= process.epoch, (
                f"member {process.number} appends in epoch {process.epoch}, and knows of"
                f" {process.epoch_seen}"
            )
        end = process.flushed if self._flushes else self.mirror(process.key).end
        self._losses.appended(process.key, end)

    def knows(self, process: Process) -> None:
        """It has had a turn: which epochs it knows of by now."""
        assert process.key >= FOREIGN or process.epoch_seen <= self._store.epoch, (
            f"member {process.number} knows of epoch {process.epoch_seen}, and members have written"
            f" {self._store.epoch}"
        )

    def went_down(self, key: int, gone: list[Stored]) -> None:
        """Its machine did, or its mount, and these records are not on its disk."""
        self._world.tally["records lost from a disk"] += len(gone)
        if not self._flushes:
            self._losses.take(key, gone)
        self._look_at_disk(key, f"the machine of {key} of the set went down")

    def lost_its_disk(self, key: int, gone: list[Stored]) -> None:
        """It is another one, an older one, or one that lied: these were on it, and it is no matter
        whether messages wait for it or not."""
        lease = self._store.truth
        self.has_lost_a_disk |= key in self._true_set | self._true_before
        if lease is not None and key in self.keys(lease):
            self._world.tally["new disks in the set"] += 1
            self._losses.replaced(self.keys(lease))
        self._losses.take(key, gone)
        self._look_at_disk(key, f"the disk of {key} of the set was replaced")

    def takes_over(self, key: int, number: int) -> None:
        """The volume with this key is its seat's own from now on."""
        gone = self.mirror(number).records
        self.lost_its_disk(number, gone)
        self.mirrors[number] = self.mirrors.pop(key, Mirror(self._rules.file_bytes))
        for disk, each in self.volumes.items():
            if each == key:
                self.volumes[disk] = number
        self.tables.renewed.takes_over(key, number)
        self._losses.rename(key, number)
        self._losses.take(number, gone)
        self._losses.appended(number, self.mirror(number).end)

    def counts(self, key: int) -> bool:
        """Whether it is of the set, as far as that is known."""
        return key in self._true_set

    def is_spare(self, key: int, running: AbstractSet[int]) -> bool:
        """Whether its disk may go and nothing is lost: all others of the set have all promises, and
        nothing of what machines lost is missing; of those that would be elected one runs."""
        lease = self._store.truth
        if lease is None:
            return False
        in_sync = self.keys(lease)
        others = in_sync - {key}
        is_led_on = key not in in_sync or bool(others & running)
        return is_led_on and all(map(self._is_whole, others))

    def _is_whole(self, key: int) -> bool:
        has_all = self.top is None or self.mirror(key).has(self.top)
        return has_all and not self._losses.has_taken(key)

    def reread(
        self, key: int, gone: list[Stored], *, was_cut: bool, has_lied: bool = False
    ) -> None:
        """It starts, and these records of its disk are gone: only those that were to be cut. What a
        disk that lied has lost besides may tell a start to cut the log once more."""
        if gone and has_lied:
            self.lost_its_disk(key, gone)
            return
        assert was_cut or not gone, f"member {key} starts without {len(gone)} records of its disk"
        assert key < FOREIGN or not was_cut, "the volume of another group was cut"
        self._look_at_disk(key, f"{key} of the set starts")

    def _look_at_disk(self, key: int, what: str) -> None:
        """Where messages wait for disks, a member of the set has all promises there, whatever
        happened, unless it is another disk."""
        lease = self._store.truth
        if not self._flushes or lease is None or key not in self.keys(lease):
            return
        if lease.epoch == self.epoch or not self._losses.are_unclean:
            self._must_have_all(frozenset({key}), what)

    # ------------------------------------------------------------------ promises

    def acknowledged(
        self, process: Process, position: int, queue_id: int, queue_offset: int
    ) -> None:
        """SEND_OK leaves this broker: the message is where it says. A message that waits for its
        delivery time lies in another queue until then."""
        record = self.mirror(process.key).at(position)
        member = f"member {process.number}, epoch {process.epoch}"
        if not process.epoch:
            if not self._rules.waits:
                return
            is_stored = any(each.start == position for each in self.history.values())
            gone = self._losses.gone  # lost on the answer's way
            assert is_stored or any(start == position for start, _ in gone), (
                f"{member}: passes on SEND_OK for {position}, which no member has promised"
            )
            return
        assert record is not None, f"{member}: SEND_OK for {position}, where no record is"
        told = Place(record.place.topic, queue_id, queue_offset)
        if record.place.topic == SCHEDULE_TOPIC:
            told = Place(SCHEDULE_TOPIC, record.place.queue_id, queue_offset)
        assert record.place == told, f"{member}: SEND_OK for {told}, but {record} is stored"
        assert process.epoch == self.epoch or process.has_old_clock, (
            f"{member}: acknowledges, and epoch {self.epoch} has begun"
        )
        lease = process.decided
        if lease is not None and lease.epoch <= process.epoch:  # else its clock is an old one
            is_enough = len(lease.in_sync) >= self._rules.least or not self._rules.waits
            assert is_enough, f"{member}: SEND_OK with {lease.in_sync} in sync"
        self._promise(process, record, f"{member}: SEND_OK for {record.key!r}")
        self._world.tally["acknowledged"] += 1

    def handed_out(self, process: Process, body: bytes) -> None:
        """A consumer gets these records."""
        at = 0
        mirror = self.mirror(process.key)
        while at < len(body):
            size, _, position = _HEAD.unpack_from(body, at)
            record = mirror.up_to(position + size)
            assert record is not None, f"member {process.number} hands out what is not in its log"
            at += size
            if not process.epoch and self._losses.goes_through(
                mirror, record, self.history, process.epoch_copied
            ):
                self._world.tally["read what was lost"] += 1
                continue
            self._world.tally["read"] += 1
            if not self._rules.waits:
                continue
            self._promise(process, record, f"member {process.number}: reads {record.key!r}")
            known = self._read.setdefault(record.place, record.digest)
            assert known == record.digest, f"two messages at {record.place} were read"

    def _promise(self, process: Process, record: Stored, what: str) -> None:
        if not self._rules.waits:
            return
        mirror, top = self.mirror(process.key), self.top
        if top is not None and record.end <= top.end:
            known = self.history.get(record.end)
            assert known is not None, f"{what}, which the group's history does not have"
            assert known.digest == record.digest, f"{what}, where the history has {known.key!r}"
            return
        assert top is None or mirror.has(top), f"{what}, and lacks {top}"
        decided = process.decided
        in_sync = self._surely_counted if decided is None else self.keys(decided)
        for each in mirror.from_(0 if top is None else top.end):
            if each.end > record.end:
                break
            self.history[each.end] = each
            self._losses.promised_in[each.end] = in_sync
        self.top = record
        self._must_have_all(in_sync, f"{what} was decided")
        self._look_at_set(what)

    def _look_at_set(self, what: str) -> None:
        """Each member that may be elected has it."""
        lease = self._store.truth
        self._must_have_all(self._surely_counted if lease is None else self.keys(lease), what)

    @property
    def _surely_counted(self) -> Keys:
        """The members that surely count where the Lease is not as members wrote it. A master that
        does not know the outcome of its last write then finds that the write did not happen."""
        return self._true_set & self._true_before

    def _must_have_all(self, members: Keys, what: str) -> None:
        top = self.top
        if top is None:
            return
        for key in sorted(members):
            mirror = self.mirror(key)
            assert mirror.has(top) or self._losses.is_taken(key, top), (
                f"{what}, but member {key} lacks {top.key!r}: its log ends at {mirror.end}"
            )

    # ------------------------------------------------------------------ masters

    def leads(self, process: Process, epoch: int) -> None:
        """It is master from now on."""
        assert process.key < FOREIGN, f"the volume of another group leads epoch {epoch}"
        assert epoch > self.epoch, f"member {process.number} leads {epoch} behind {self.epoch}"
        self.epoch = epoch
        self._world.tally["promotions"] += 1
        mirror, top = self.mirror(process.key), self.top
        if top is None or mirror.has(top):
            return
        common = common_end(self.history, mirror)
        what = f"member {process.number} leads epoch {epoch} without {top}; it has {common}"
        excuse = self._losses.must_be_excused(self.history, top, common, what)
        self._world.tally["excused losses"] += 1
        self._world.tally[f"excused losses: {excuse}"] += 1
        self._world.tell(f"excused: {what}")
        self._forget(common)

    def has_authority(self, process: Process, now: float) -> None:
        """It would acknowledge now, which is by its own clock."""
        self._authority.must_hold(process, self.epoch, now)

    def _forget(self, common: int) -> None:
        """What lies behind was lost."""
        self._losses.forget((e for end, e in self.history.items() if end > common), self.epoch)
        self.history = {end: each for end, each in self.history.items() if end <= common}
        self.top = self.history.get(common)
        digests = {each.digest for each in self.history.values()}
        self._read = {place: digest for place, digest in self._read.items() if digest in digests}

    def tables_are_kept(self, process: Process, state: State) -> None:
        """A new master has what others were told that it is stored."""
        is_excused = self._was_without_lease or self._losses.are_unclean
        self._was_without_lease = False
        self.tables.are_kept(process.number, state, is_excused=is_excused)
        self.tables.offsets_are_clamped(process.number, state)

    # ------------------------------------------------------------------ the Lease

    def _lease_changed(self, lease: Lease | None) -> None:
        if lease is None or not lease.in_sync or self._store.truth is None:
            return  # there is none, or it says nothing, or it is not what a member wrote
        before, self._lease = self._lease, lease
        if before is None:
            self._true_set = self.keys(lease)
            return
        is_known = self._store.truth_before is not None
        is_elected = lease.epoch > before.epoch
        if is_elected:
            self._elected(before, lease, is_known=is_known)
        is_unclean = is_elected and self._losses.are_unclean
        if is_known and not is_unclean:
            text = f"the lease names {lease.in_sync}"
            self._must_have_all(self.keys(lease) - self.keys(before), text)
        if len(lease.in_sync) != len(before.in_sync):
            grown = len(lease.in_sync) > len(before.in_sync)
            self._world.tally["grows" if grown else "shrinks"] += 1
        if self.keys(lease) != self._true_set:
            self._true_before, self._true_set = self._true_set, self.keys(lease)

    def _elected(self, before: Lease, lease: Lease, *, is_known: bool) -> None:
        """Its holder becomes master of a new epoch; `is_known`: what was there before is the
        truth."""
        (holder,) = self.keys(lease, {lease.holder}) if lease.holder else {0}
        is_whole = is_known and holder in self.keys(before) and not self._losses.has_taken(holder)
        written_on = self._store.before
        is_allowed = written_on is not None and written_on.operator_requests.allows_unclean
        heard = self._true_set if is_known else None
        election = Election(self._true_set, heard, is_allowed and not is_whole)
        self._losses.elected(election, is_led=before.epoch <= self.epoch)
        self._world.tally["elections that may be unclean"] += election.is_unclean
        self._was_without_lease |= not is_known
        if lease.holder != before.holder:
            self._world.tally["failovers"] += 1
        if is_known and not election.is_unclean:
            is_member = holder in self.keys(before) and lease.holder not in before.fenced
            is_empty = not any(self.mirror(each).records for each in self.keys(before))
            assert is_member or is_empty, (
                f"member {lease.holder} was elected from outside of {sorted(before.in_sync)},"
                f" fenced {sorted(before.fenced)}, with the volume {holder}"
            )

    # ------------------------------------------------------------------ the end

    def whole(self, master: int, received: dict[bytes, int]) -> None:
        """Every message with a SEND_OK is in the last master's log."""
        mirror = self.mirror(master)
        assert self.top is None or mirror.has(self.top)
        if not self._rules.waits:
            return
        for key, position in received.items():
            if (position, key) in self._losses.gone:
                continue
            record = mirror.at(position)
            assert record is not None, f"{key!r} was acknowledged at {position}: nothing is there"
            assert record.key == key, f"{key!r} was acknowledged at {position}: {record} is there"
