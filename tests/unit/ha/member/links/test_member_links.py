"""Both ends of a link talk to each other, however the network cuts what they say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gantrymq.fakes.groups.group import (
    EPOCH,
    Follower,
    Master,
    Pipe,
    connected,
    filled,
    follower_of,
    member,
    member_report,
)
from gantrymq.fakes.stores.store import SETTINGS, message
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.member.links.member_events import Identified, Refused, TableReceived, Welcomed
from gantrymq.ha.protocol.events import Ended, Ending
from gantrymq.ha.protocol.log_stream import OUTPUT_BYTES_MAX
from gantrymq.store.record.put_status import PutStatus
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk

cuts = st.lists(st.integers(1, 300), max_size=60)

# Each example opens two stores.
few = settings(max_examples=12)


@few
@given(cuts)
def test_a_new_member_gets_all_of_the_log(sizes: list[int]) -> None:
    master = filled(Master({1}), 60)
    follower = Follower()
    pipe = connected(master, follower, sizes)
    (met,) = pipe.told_master
    assert isinstance(met, Identified)
    assert met.member == member(2)
    assert met.member_report.is_empty
    assert follower.bytes_of_log() == master.bytes_of_log()
    assert pipe.link.report.received == master.store.log.end > 4096


def test_new_member_gets_the_log_that_is_not_deleted() -> None:
    master = filled(Master({1}), 60)
    master.store.log.remove_first()
    master.background.complete_all()
    master.turn()
    start = master.store.log.start
    follower = Follower()
    pipe = connected(master, follower)
    welcomed = pipe.told_follower[0]
    assert isinstance(welcomed, Welcomed)
    assert (welcomed.divergence, welcomed.begins) == (None, start)
    assert follower.store.log.start == start > 0
    assert follower.bytes_of_log(start) == master.bytes_of_log(start)
    assert 2 in (master.in_sync.wanted(master.now) or ()), "it has what there is"


@few
@given(cuts, st.integers(0, 60))
def test_follower_continues_where_its_log_ends(sizes: list[int], had: int) -> None:
    master = Master()
    filled(master, had)
    follower = follower_of(master, master.store.log.end)
    filled(master, 60 - had, had)
    pipe = connected(master, follower, sizes)
    welcomed = pipe.told_follower[0]
    assert isinstance(welcomed, Welcomed)
    assert welcomed.master == member(1)
    assert follower.bytes_of_log() == master.bytes_of_log()


@pytest.mark.parametrize("behind", [0, 1])
def test_diverged_logs_are_not_changed(behind: int) -> None:
    master = filled(Master(), 5)
    common = master.store.log.end
    follower = follower_of(master, common)
    alone = Master()
    filled(alone, 5 + behind)
    follower.store.begin_copy()
    follower.store.append_copy(common, alone.bytes_of_log(common), follower.now)
    filled(master, 2, 100)
    master.epoch, master.epochs = 2, (Epoch(1, 0), Epoch(2, common))
    before = follower.bytes_of_log()
    master.followers.retire(master.now)
    master.followers.lead(2, master.in_sync, master.now)
    pipe = connected(master, follower)
    welcomed = pipe.told_follower[0]
    assert isinstance(welcomed, Welcomed)
    assert welcomed.divergence == common
    assert (welcomed.begins is None) == bool(behind)
    assert (follower.bytes_of_log() == before) == bool(behind)
    assert not [event for event in pipe.told_follower if isinstance(event, Ended)]
    if behind:
        assert master.in_sync.acknowledged(pipe.link.report) == 0, "it counts for nothing"
        follower.tables.clear()
        assert not pipe.link.has_room


def test_a_message_is_acknowledged_once_the_set_has_it() -> None:
    master = Master()
    follower = Follower()
    pipe = connected(master, follower)
    (number,) = master.put(1)
    assert not master.turn().answers
    pipe.run(1)
    pipe.up()
    (answer,) = master.turn().answers
    assert (answer.number, answer.status) == (number, PutStatus.PUT_OK)
    assert master.followers.safe == master.store.log.end
    master.round(0.02)
    pipe.down()
    assert follower.beat is not None
    assert follower.beat.safe == follower.beat.end == master.store.log.end
    assert follower.beat.epoch == EPOCH


def test_tables_get_there_and_are_counted_when_they_are_stored() -> None:
    master, follower = Master(), Follower()
    pipe = connected(master, follower)
    first = master.followers.tables({"offsets": b"1", "topics": b"a"}, master.now)
    follower.now += 0.5
    follower.link.expire(follower.now)
    pipe.up()
    assert master.followers.stored_by({1, 2}) < first
    pipe.run(2)
    assert follower.tables == {"offsets": b"1", "topics": b"a"}
    assert master.followers.stored_by({1, 2}) == first
    second = master.followers.tables({"offsets": b"2", "topics": b"a"}, master.now)
    assert second == first + 1
    pipe.run(2)
    assert [event.name for event in pipe.told_follower if isinstance(event, TableReceived)] == [
        "offsets",
        "topics",
        "offsets",
    ]
    assert master.followers.stored_by({1, 2}) == second
    assert master.followers.stored_by({1, 2, 3}) == 0


def test_a_member_that_comes_later_gets_all_tables() -> None:
    master, follower = Master(), Follower()
    number = master.followers.tables({"offsets": b"1", "topics": b"a"}, master.now)
    connected(master, follower)
    assert follower.tables == {"offsets": b"1", "topics": b"a"}
    assert master.followers.stored_by({2}) == number


def test_member_that_is_not_master_sends_its_report() -> None:
    master = filled(Master(leads=False), 3)
    follower = Follower()
    pipe = connected(master, follower)
    (refused,) = pipe.told_follower
    assert refused == Refused(
        member(1),
        "not-master",
        "member 1 is not master",
        member_report(master, EPOCH, master.epochs),
    )
    assert pipe.link.is_over
    assert follower.link.is_over
    assert [type(each) for each in pipe.told_master] == [Identified]


@few
@given(st.data())
def test_any_damaged_byte_does_no_harm(data: st.DataObject) -> None:
    """One byte of the whole conversation, in either direction, is changed."""
    master = filled(Master(), 1)
    had = master.store.log.end
    follower = follower_of(filled(master, 2), had)
    pipe = Pipe(follower, master)
    at, flip = data.draw(st.integers(0, 700)), data.draw(st.integers(1, 255))
    to_master = data.draw(st.booleans())
    for _ in range(4):
        pipe.follower.report()
        said = bytearray(b"".join(follower.link.take_output()))
        if to_master and at < len(said):
            said[at] ^= flip
        before = pipe.link.stream.sent
        master.followers.received(pipe.link, bytes(said), master.now)
        assert pipe.link.report.received <= max(before, had)
        master.round()
        heard = bytearray(b"".join(pipe.link.take_output()))
        if not to_master and at < len(heard):
            heard[at] ^= flip
        length = len(said if to_master else heard)
        at = at - length if at >= length else 1 << 40
        for event in follower.link.receive(bytes(heard), follower.now):
            assert not isinstance(event, Welcomed) or event.master.number == 1
    assert master.followers.safe <= master.store.log.end


def test_work_of_a_turn_is_bounded_while_two_followers_copy_everything() -> None:
    disk = FaultyDisk()
    sizes = StoreSettings(mapped_file_size_commit_log=4 << 20)
    master = Master({1}, disk, sizes)
    for number in range(40):
        record = message(number)
        record.body = bytes(60_000)
        master.store.put(record)
        master.turn()
    master.close()
    again = Master({1}, disk, sizes)
    disk.memory.cool()
    pipes = [Pipe(Follower(number, settings=sizes), again) for number in (2, 3)]
    while pipes[0].follower.store.log.end < again.store.log.end:
        for pipe in pipes:
            pipe.up()
        again.turn()
        again.followers.turn(again.now)
        for pipe in pipes:
            assert sum(map(len, pipe.link._output)) <= OUTPUT_BYTES_MAX + 4096
            pipe.down()
        assert [job.kind for job in again.background.jobs].count("read") <= 2
        again.background.complete_all()
    assert pipes[1].follower.bytes_of_log(0, 1 << 20) == again.bytes_of_log(0, 1 << 20)


def test_silence_ends_a_link_on_both_sides() -> None:
    master, follower = Master(settings=SETTINGS), Follower()
    pipe = connected(master, follower)
    assert follower.link.deadline() == 0.5
    for _ in range(10):
        follower.now += 0.5
        master.now += 0.5
        assert not follower.link.expire(follower.now)
        pipe.run(1)
    assert not pipe.link.is_over
    assert not follower.link.is_over
    (ended,) = follower.link.expire(follower.now + 3)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.SILENT
    assert [each.ending for each in master.round(3.0)] == [Ending.SILENT]
