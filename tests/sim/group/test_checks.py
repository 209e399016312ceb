"""What must be true of groups, held against logs that are made up."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from random import Random
from typing import final

import pytest

from gantrymq.ha.lease import Lease, LeaseAnswer, Wishes
from gantrymq.sim.group_checks import Checks, Rules
from gantrymq.sim.group_lease_store import LeaseStore
from gantrymq.sim.group_mirror import Mirror, Place, Stored
from gantrymq.sim.group_network import Network
from gantrymq.sim.group_volumes import FOREIGN, TWIN
from gantrymq.sim.group_world import Life, World
from gantrymq.sim.group_world import Place as Node

SIZE = 100


@final
@dataclass
class Broker:
    """Who promises something."""

    number: int
    epoch: int = 0
    epoch_seen: int = 0
    epoch_copied: int = 0
    flushed: int = 0
    decided: Lease | None = None
    has_old_clock: bool = False
    volume: int = 0

    @property
    def key(self) -> int:
        return self.volume or self.number


@final
class Scene:
    """Two members in sync, of which the first leads."""

    def __init__(self, *, flushes: bool = True) -> None:
        self.world = World(1)
        network = Network(self.world, Random(1))
        self.leases = LeaseStore(self.world, network, Random(1))
        self.checks = Checks(
            self.world,
            self.leases,
            network,
            Rules(waits=True, flushes=flushes, least=2, file_bytes=1 << 20),
        )
        self.brokers = [Broker(1), Broker(2)]
        self.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2})))
        self.lead(0, 1)

    def write(self, lease: Lease) -> None:
        """A member reads what is there, and writes this."""
        place, life = Node(self.world, 1, "one", Random(1), 0.0), Life()
        self.leases.read(place, life, lambda answer: None)
        self.world.run(self.world.now + 2.0)
        version = "" if self.leases.lease is None else self.leases.lease.version
        named = (
            {"address": "10.0.0.1:10911", "ha_address": "10.0.0.1:10912"} if lease.holder else {}
        )
        self.leases.write(place, life, replace(lease, version=version, **named), _ignore)  # type: ignore[arg-type]  # of a lease's fields
        self.world.run(self.world.now + 2.0)

    def lead(self, index: int, epoch: int) -> None:
        self.brokers[index].epoch = epoch
        self.checks.leads(self.brokers[index], epoch)

    def log(self, number: int, *keys: bytes) -> None:
        """This is what a member's log is."""
        mirror, digest = Mirror(1 << 20), 0
        for index, key in enumerate(keys):
            digest = hash((digest, tuple(key)))
            place = Place(b"T", 0, index)
            mirror.records.append(Stored(index * SIZE, (index + 1) * SIZE, digest, key, place))
            mirror._ends.append((index + 1) * SIZE)
        self.checks.mirrors[number] = mirror

    def lose(self, number: int, *keys: bytes) -> None:
        """Its machine goes down, and this is what its disk still has."""
        before = self.checks.mirror(number).records
        self.log(number, *keys)
        self.checks.went_down(number, before[len(keys) :])

    def acknowledge(self, index: int, offset: int) -> None:
        """What was decided just now, unless it is said what the Lease said then."""
        broker = self.brokers[index]
        decided = broker.decided or self.checks.known_lease
        now = replace(broker, decided=decided)
        self.checks.acknowledged(now, offset * SIZE, 0, offset)

    def read(self, index: int, count: int) -> None:
        """A consumer gets the last of so many records."""
        head = SIZE.to_bytes(4, "big") + bytes(24) + ((count - 1) * SIZE).to_bytes(8, "big")
        self.checks.handed_out(self.brokers[index], head.ljust(SIZE, b"\0"))


def _ignore(answer: LeaseAnswer) -> None:
    """What was written is looked at in the store."""


def test_what_all_of_the_set_have_may_be_acknowledged() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a", b"b")
    scene.acknowledge(0, 0)
    scene.acknowledge(0, 1)
    assert scene.world.tally["acknowledged"] == 2


def test_a_message_that_one_of_the_set_lacks_may_not() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a")
    scene.acknowledge(0, 0)
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.acknowledge(0, 1)


def test_nor_one_where_the_set_is_too_small() -> None:
    scene = Scene()
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1})))
    scene.log(1, b"a")
    with pytest.raises(AssertionError, match="in sync"):
        scene.acknowledge(0, 0)


def test_nobody_joins_the_set_who_lacks_a_promise() -> None:
    scene = Scene()
    scene.log(1, b"a")
    scene.log(2, b"a")
    scene.acknowledge(0, 0)
    with pytest.raises(AssertionError, match="member 3 lacks"):
        scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2, 3})))


def test_a_master_of_an_earlier_epoch_acknowledges_nothing() -> None:
    scene = Scene()
    scene.log(1, b"a")
    scene.log(2, b"a")
    scene.lead(1, 2)
    with pytest.raises(AssertionError, match="epoch 2 has begun"):
        scene.acknowledge(0, 0)


def test_a_new_master_has_all_promises() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a", b"b")
    scene.acknowledge(0, 1)
    scene.log(2, b"a", b"other")
    with pytest.raises(AssertionError, match="leads epoch 2 without"):
        scene.lead(1, 2)


def with_a_loss_allowed() -> Scene:
    """Of two messages that the set of member 1 has member 2 has one; an operator does not mind."""
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a", b"b")
    scene.acknowledge(0, 1)
    scene.log(2, b"a")
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1})))
    scene.leases.wish(lambda wishes: Wishes(allows_unclean=True))
    return scene


def test_a_loss_is_excused_where_the_operator_allowed_it() -> None:
    scene = with_a_loss_allowed()
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    scene.lead(1, 2)
    assert scene.world.tally["excused losses: unclean"] == 1
    scene.log(1, b"a", b"new")
    scene.log(2, b"a", b"new")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({1, 2})))
    scene.acknowledge(1, 1)


def test_but_not_where_a_member_of_the_set_was_elected() -> None:
    scene = with_a_loss_allowed()
    scene.log(1, b"a")
    scene.write(Lease(holder=1, epoch=2, in_sync=frozenset({1})))
    with pytest.raises(AssertionError, match="leads epoch 2 without"):
        scene.lead(0, 2)


def test_nor_by_a_later_election_that_needed_no_permission() -> None:
    scene = with_a_loss_allowed()
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    scene.lead(1, 2)
    for number in (1, 2):
        scene.log(number, b"a", b"new")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({1, 2})))
    scene.acknowledge(1, 1)
    scene.log(1, b"a")
    scene.write(Lease(holder=1, epoch=3, in_sync=frozenset({1})))
    with pytest.raises(AssertionError, match="leads epoch 3 without"):
        scene.lead(0, 3)


def test_what_was_decided_with_too_small_a_set_is_no_promise_when_the_set_has_grown() -> None:
    scene = Scene()
    scene.log(1, b"a")
    scene.log(2, b"a")
    scene.brokers[0].decided = Lease(holder=1, epoch=1, in_sync=frozenset({1}))
    with pytest.raises(AssertionError, match="in sync"):
        scene.acknowledge(0, 0)


def test_and_who_was_of_the_set_when_it_was_decided_has_to_have_it() -> None:
    scene = Scene()
    scene.log(1, b"a")
    scene.log(2, b"a")
    scene.brokers[0].decided = Lease(holder=1, epoch=1, in_sync=frozenset({1, 2, 3}))
    with pytest.raises(AssertionError, match="was decided, but member 3 lacks"):
        scene.acknowledge(0, 0)


def test_a_seat_counts_with_the_disk_that_the_lease_gives_to_it() -> None:
    scene = Scene()
    scene.checks.volumes = {"a" * 32: 2, "b" * 32: TWIN + 2}
    scene.log(1, b"a")
    scene.log(TWIN + 2, b"a")
    disks = {1: "1" * 32, 2: "a" * 32}
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2}), disks=disks))
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.acknowledge(0, 0)
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2}), disks=disks | {2: "b" * 32}))
    scene.acknowledge(0, 0)


def test_nor_is_another_disk_elected_in_a_seat_of_the_set() -> None:
    scene = Scene()
    scene.checks.volumes = {"a" * 32: 2, "b" * 32: TWIN + 2}
    scene.log(1, b"a")
    disks = {1: "1" * 32, 2: "a" * 32}
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1, 2}), disks=disks))
    with pytest.raises(AssertionError, match="from outside"):
        scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2}), disks={2: "b" * 32}))


def test_the_volume_of_another_group_never_leads_and_is_never_written() -> None:
    scene = Scene()
    stranger = Broker(3, epoch=2, volume=FOREIGN + 3)
    with pytest.raises(AssertionError, match="another group leads"):
        scene.checks.leads(stranger, 2)
    scene.log(FOREIGN + 3, b"a")
    with pytest.raises(AssertionError, match="is copied to the volume of another group"):
        scene.checks.appended(stranger, scene.checks.mirror(FOREIGN + 3).records)


def test_an_epoch_that_no_member_has_written_is_not_known() -> None:
    scene = Scene()
    scene.brokers[0].epoch_seen = 1
    scene.checks.knows(scene.brokers[0])
    scene.leases.edit({"epoch": "999999999"})
    scene.brokers[0].epoch_seen = 999_999_999
    with pytest.raises(AssertionError, match="members have written 1"):
        scene.checks.knows(scene.brokers[0])


def test_a_master_whose_clocks_stood_still_may_believe_and_promises_nothing_new() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.log(2, b"a", b"c")
    scene.lead(1, 2)
    scene.acknowledge(1, 0)
    old = scene.brokers[0]
    old.has_old_clock = True
    scene.checks.has_authority(old, 0.0)
    scene.acknowledge(0, 0)
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.acknowledge(0, 1)
    old.has_old_clock = False
    with pytest.raises(AssertionError, match="epoch 2 has begun"):
        scene.checks.has_authority(old, 0.0)


def acknowledged_by_both(*, flushes: bool = False) -> Scene:
    """Three messages."""
    scene = Scene(flushes=flushes)
    scene.log(1, b"a", b"b", b"c")
    scene.log(2, b"a", b"b", b"c")
    scene.acknowledge(0, 2)
    return scene


def test_and_where_no_disk_had_to_have_it_and_each_of_the_set_lost_it() -> None:
    scene = acknowledged_by_both()
    scene.lose(1, b"a")
    scene.lose(2, b"a", b"b")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    scene.lead(1, 2)
    assert scene.world.tally["excused losses"] == 1


def test_but_not_where_a_machine_that_is_down_still_has_it() -> None:
    scene = acknowledged_by_both()
    scene.lose(1, b"a", b"b", b"c")
    scene.lose(2, b"a")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    with pytest.raises(AssertionError, match="member 1 did not lose it"):
        scene.lead(1, 2)


def test_nor_where_who_was_let_go_had_it_too() -> None:
    scene = acknowledged_by_both()
    scene.write(Lease(holder=1, epoch=1, in_sync=frozenset({1})))
    scene.lose(1, b"a")
    scene.write(Lease(holder=1, epoch=2, in_sync=frozenset({1})))
    with pytest.raises(AssertionError, match=r"in \{1, 2\}, and member 2 did not"):
        scene.lead(0, 2)


def test_nor_where_a_part_of_it_is_left_elsewhere() -> None:
    scene = acknowledged_by_both()
    scene.lose(1, b"a", b"b")
    scene.lose(2, b"a")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    with pytest.raises(AssertionError, match=f"member 1 has {2 * SIZE}"):
        scene.lead(1, 2)


def test_nor_where_somebody_lost_it_otherwise() -> None:
    scene = acknowledged_by_both()
    scene.lose(1, b"a")
    scene.log(2, b"a")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    with pytest.raises(AssertionError, match="member 2 did not lose it"):
        scene.lead(1, 2)


def test_where_the_lease_was_gone_everybodys_log_counts() -> None:
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b")
    scene.lose(1)
    scene.lose(2, b"a")
    scene.leases.delete()
    scene.write(Lease())
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    with pytest.raises(AssertionError, match=f"member 3 has {2 * SIZE}"):
        scene.lead(1, 2)
    scene.log(3, b"a")
    scene.lead(1, 3)
    assert scene.world.tally["excused losses"] == 1


def test_and_then_one_from_outside_of_the_set_may_have_most() -> None:
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b")
    scene.lose(1)
    scene.lose(2, b"a")
    scene.leases.delete()
    scene.write(Lease())
    scene.write(Lease(holder=3, epoch=2, in_sync=frozenset({3})))
    scene.brokers.append(Broker(3))
    scene.lead(2, 2)
    assert scene.world.tally["excused losses"] == 1


def elected_twice_without_a_lease(*lost: int) -> Scene:
    """Member 3, whose first epoch nobody led; it had two of three messages."""
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b")
    for number in lost:
        scene.lose(number, b"a")
    scene.leases.delete()
    scene.write(Lease())
    scene.write(Lease(holder=3, epoch=2, in_sync=frozenset({3})))
    scene.write(Lease(holder=3, epoch=3, in_sync=frozenset({3})))
    scene.brokers.append(Broker(3))
    return scene


def test_an_epoch_that_nobody_led_takes_no_excuse_away() -> None:
    scene = elected_twice_without_a_lease(1, 2)
    scene.lead(2, 3)
    assert scene.world.tally["excused losses"] == 1


def test_and_gives_none() -> None:
    scene = elected_twice_without_a_lease(1)
    with pytest.raises(AssertionError, match="member 3 did not lose it"):
        scene.lead(2, 3)


def test_nor_does_one_that_was_led() -> None:
    scene = elected_twice_without_a_lease(1, 2)
    scene.lead(2, 3)
    for number in (2, 3):
        scene.log(number, b"a", b"b", b"d")
    scene.write(Lease(holder=3, epoch=3, in_sync=frozenset({2, 3})))
    scene.acknowledge(2, 2)
    scene.lose(2, b"a", b"b")
    scene.log(3, b"a", b"b")
    scene.write(Lease(holder=3, epoch=4, in_sync=frozenset({3})))
    with pytest.raises(AssertionError, match="member 3 did not lose it"):
        scene.lead(2, 4)


def test_a_member_of_the_set_may_lack_what_its_machine_lost_and_nothing_else() -> None:
    scene = Scene(flushes=False)
    scene.log(1, b"a", b"b", b"c")
    scene.log(2, b"a", b"b")
    scene.lose(2, b"a")
    scene.read(0, 2)
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.read(0, 3)


def test_only_until_it_has_it_again() -> None:
    scene = acknowledged_by_both()
    scene.lose(2, b"a")
    scene.log(2, b"a", b"b", b"c")
    scene.checks.appended(scene.brokers[1], scene.checks.mirror(2).records[1:])
    scene.log(2, b"a")
    scene.lose(1, b"a")
    scene.write(Lease(holder=1, epoch=2, in_sync=frozenset({1})))
    with pytest.raises(AssertionError, match="member 2 did not lose it"):
        scene.lead(0, 2)


def test_but_not_where_it_was_to_be_on_its_disk() -> None:
    scene = acknowledged_by_both(flushes=True)
    with pytest.raises(AssertionError, match="member 2 lacks"):
        scene.lose(2, b"a")


def replaced(scene: Scene, number: int) -> None:
    """It has another disk, with nothing on it."""
    gone = scene.checks.mirror(number).records
    scene.log(number)
    scene.checks.lost_its_disk(number, gone)


def test_a_member_of_the_set_may_lack_what_was_on_a_disk_that_was_replaced() -> None:
    scene = acknowledged_by_both(flushes=True)
    replaced(scene, 2)
    scene.log(1, b"a", b"b", b"c", b"d")
    with pytest.raises(AssertionError, match="member 2 lacks b'd'"):
        scene.acknowledge(0, 3)


def test_until_it_has_as_much_again_on_the_disk_where_messages_wait_for_that() -> None:
    scene = acknowledged_by_both(flushes=True)
    replaced(scene, 2)
    for flushed in (0, 2 * SIZE, 3 * SIZE):
        scene.log(2, b"a", b"b", b"c")
        scene.brokers[1].flushed = flushed
        scene.checks.appended(scene.brokers[1], scene.checks.mirror(2).from_(0))
        has_all = flushed == 3 * SIZE
        with pytest.raises(AssertionError, match="lacks b'c'") if has_all else nullcontext():
            scene.lose(2)


def test_but_not_lead_as_others_have_it() -> None:
    for flushes in (True, False):
        scene = acknowledged_by_both(flushes=flushes)
        replaced(scene, 2)
        scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({1, 2})))
        with pytest.raises(AssertionError, match="leads epoch 2 without"):
            scene.lead(1, 2)


def test_a_disk_is_replaced_only_where_nothing_is_lost_with_it() -> None:
    scene = acknowledged_by_both()
    assert scene.checks.is_spare(2, {1, 2})
    assert not scene.checks.is_spare(2, {2})
    replaced(scene, 2)
    assert scene.checks.is_spare(2, {1, 2})
    assert not scene.checks.is_spare(1, {1, 2})
    scene.write(Lease(holder=2, epoch=1, in_sync=frozenset({2})))
    assert not scene.checks.is_spare(1, {1, 2})
    scene.leases.delete()
    assert not scene.checks.is_spare(2, {1, 2})


def test_a_start_finds_all_that_is_on_the_disk() -> None:
    scene = Scene()
    scene.checks.reread(2, 1, was_cut=True)
    with pytest.raises(AssertionError, match="starts without 1 records"):
        scene.checks.reread(2, 1, was_cut=False)


def test_who_follows_no_master_since_a_loss_may_show_it_once_more() -> None:
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b", b"c")
    scene.lose(1, b"a", b"b")
    scene.lose(2, b"a", b"b")
    scene.write(Lease(holder=2, epoch=2, in_sync=frozenset({2})))
    scene.lead(1, 2)
    scene.log(2, b"a", b"b", b"other")
    scene.read(1, 3)
    late = Broker(3, epoch_copied=1)
    scene.brokers.append(late)
    scene.read(2, 3)
    assert scene.world.tally["read what was lost"] == 1
    late.epoch_copied = 2
    with pytest.raises(AssertionError, match="the history has b'other'"):
        scene.read(2, 3)
    late.epoch_copied, late.epoch = 1, 1
    with pytest.raises(AssertionError, match="the history has b'other'"):
        scene.read(2, 3)


def test_nothing_is_appended_by_who_knows_a_later_epoch() -> None:
    scene = Scene()
    scene.log(1, b"a")
    new = scene.checks.mirror(1).records
    scene.brokers[0].epoch_seen = 1
    scene.checks.appended(scene.brokers[0], new)
    scene.brokers[0].epoch_seen = 2
    with pytest.raises(AssertionError, match="knows of 2"):
        scene.checks.appended(scene.brokers[0], new)


def test_only_members_of_the_set_are_elected() -> None:
    scene = acknowledged_by_both()
    scene.log(3, b"a", b"b", b"c")
    scene.log(2)
    with pytest.raises(AssertionError, match="from outside"):
        scene.write(Lease(holder=3, epoch=2, in_sync=frozenset({3})))


def test_but_where_nothing_is_on_their_disks_whoever_has_all_promises() -> None:
    for key in (b"c", b"x"):
        scene = acknowledged_by_both()
        scene.log(3, b"a", b"b", key)
        for number in (1, 2):
            replaced(scene, number)
        has_all = key == b"c"
        with nullcontext() if has_all else pytest.raises(AssertionError, match="3 lacks b'c'"):
            scene.write(Lease(holder=3, epoch=2, in_sync=frozenset({3})))


def test_who_was_told_finds_the_message_at_the_end() -> None:
    scene = Scene()
    scene.log(1, b"a", b"b")
    scene.checks.whole(1, {b"a": 0, b"b": SIZE})
    with pytest.raises(AssertionError, match="nothing is there"):
        scene.checks.whole(1, {b"c": 2 * SIZE})
    with pytest.raises(AssertionError, match="is there"):
        scene.checks.whole(1, {b"c": SIZE})
