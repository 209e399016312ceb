"""Tests the master's end of a member link: handshake, output and timeouts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.fakes.groups.group import SECRET, Master, filled, member, member_report
from gantrymq.fakes.stores.store import message
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.member.links.incoming_link import UNSTORED_MAX, IncomingLink
from gantrymq.ha.member.links.member_events import Identified, Reported
from gantrymq.ha.protocol.events import Ended, Ending
from gantrymq.ha.protocol.handshake import IncomingHandshake, MemberReport, OutgoingHandshake
from gantrymq.ha.protocol.log_stream import OUTPUT_BYTES_MAX
from gantrymq.ha.protocol.member_frames import (
    OPENING,
    Data,
    Frame,
    HandshakeFrame,
    Heartbeat,
    Kind,
    MemberReader,
    Report,
    Table,
    encode,
)
from gantrymq.store.settings import StoreSettings

EMPTY = MemberReport(1, (), 0, 0)
MASTER = filled(Master({1}), 60)
END = MASTER.store.log.end


class Met2:
    """Member 2 as the master sees it, and what it was sent."""

    def __init__(self, theirs: MemberReport = EMPTY, master: Master = MASTER) -> None:
        self.master = master
        master.now = 0.0
        peer_handshake = IncomingHandshake(member(1), SECRET, b"m" * 16)
        self.link = IncomingLink(9, "10.0.0.9:40000", peer_handshake, master.store, 0.0)
        self.reader = MemberReader(*Kind)
        self.said = b""
        follower = OutgoingHandshake(member(2), SECRET, b"f" * 16, theirs)
        self.say(follower.begin())
        (challenge,) = self.frames()
        assert isinstance(challenge, HandshakeFrame)
        said, _ = follower.take(challenge)
        self.events = self.say(said)

    def say(self, data: bytes, now: float = 0.0) -> Sequence[object]:
        self.said += data
        return self.link.receive(data, now)

    def frames(self) -> list[Frame]:
        """What it is sent."""
        return list(self.reader.decode(b"".join(self.link.take_output())))

    def welcome(self) -> Met2:
        master = self.master
        self.link.welcome(member_report(master, master.epoch, master.epochs), 0.0)
        return self

    def all_of_log(self) -> bytes:
        """What it is sent of the log, and the tables are thrown away."""
        data = b""
        while self.link.has_room:
            assert not self.link.fill(0.0)
            data += b"".join(each.data for each in self.frames() if isinstance(each, Data))
        return data


def test_proven_peer_is_identified() -> None:
    met = Met2()
    assert met.events == [Identified(member(2), EMPTY)]
    assert met.link.member == member(2)
    assert not met.link.is_following
    assert not met.link.has_room


def test_every_damaged_byte_before_the_proof_ends_it() -> None:
    """The opening and what the follower says of itself; nothing is believed."""
    said = Met2().said
    for at in range(len(said)):
        for flip in (1, 0x80):
            damaged = bytearray(said)
            damaged[at] ^= flip
            peer_handshake = IncomingHandshake(member(1), SECRET, b"m" * 16)
            link = IncomingLink(9, "10.0.0.9:40000", peer_handshake, MASTER.store, 0.0)
            events = link.receive(bytes(damaged), 0.0)
            for event in events:
                if isinstance(event, Identified):
                    assert event.member == member(2)
                    assert at > said.index(b"J", len(said) - 200), "its standing is not proven"
            assert link.report == Report(0, 0)
            assert not link.is_following


@given(st.lists(st.integers(1, 40), max_size=40))
def test_handshake_may_arrive_in_any_pieces(sizes: list[int]) -> None:
    said = Met2().said
    peer_handshake = IncomingHandshake(member(1), SECRET, b"m" * 16)
    link = IncomingLink(9, "10.0.0.9:40000", peer_handshake, MASTER.store, 0.0)
    events: list[object] = []
    for size in [*sizes, len(said)]:
        events += link.receive(said[:size], 0.0)
        said = said[size:]
    assert events == [Identified(member(2), EMPTY)]


@given(st.binary(min_size=8, max_size=60).filter(lambda data: not data.startswith(OPENING)))
def test_garbage_identifies_no_member(data: bytes) -> None:
    peer_handshake = IncomingHandshake(member(1), SECRET, b"m" * 16)
    link = IncomingLink(9, "10.0.0.9:40000", peer_handshake, MASTER.store, 0.0)
    (ended,) = link.receive(data, 0.0)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.GARBAGE
    assert link.is_over
    assert not link.receive(OPENING, 0.0)


def test_buffer_of_an_unproven_peer_is_bounded() -> None:
    peer_handshake = IncomingHandshake(member(1), SECRET, b"m" * 16)
    link = IncomingLink(9, "10.0.0.9:40000", peer_handshake, MASTER.store, 0.0)
    (ended,) = link.receive(OPENING + b"J" + (1 << 20).to_bytes(4), 0.0)
    assert isinstance(ended, Ended)
    assert "unexpected frame" in ended.text


def test_peer_that_does_not_finish_the_handshake_in_time_is_closed() -> None:
    peer_handshake = IncomingHandshake(member(1), SECRET, b"m" * 16)
    link = IncomingLink(9, "10.0.0.9:40000", peer_handshake, MASTER.store, 0.0)
    for now, byte in enumerate(OPENING[:2]):
        link.receive(bytes([byte]), float(now))
    assert link.deadline() == 3.0
    assert not link.expire(2.9)
    (ended,) = link.expire(3.0)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.SILENT


def test_refused_peer_gets_the_reason_and_is_closed() -> None:
    met = Met2()
    met.link.refuse("not-master", "member 1 is not master", EMPTY)
    assert not met.link.expire(0.1)
    assert not met.say(encode(Report(0, 0)))
    (frame,) = met.frames()
    assert isinstance(frame, HandshakeFrame)
    assert frame.kind is Kind.REFUSAL
    assert met.link.deadline() < 0
    (ended,) = met.link.expire(0.2)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.REFUSED


def test_follower_cannot_take_back_that_it_leaves() -> None:
    met = Met2(MemberReport(1, (Epoch(1, 0),), 0, 120)).welcome()
    met.all_of_log()
    leaving = Report(200, 100, is_leaving=True)
    assert met.say(encode(leaving)) == [Reported(leaving)]
    (ended,) = met.say(encode(Report(300, 100)))
    assert isinstance(ended, Ended)


@pytest.mark.parametrize(
    "report",
    [
        Report(END + 1, 0),
        Report(-1, -1),
        Report(200, 201),
        Report(119, 0),
        Report(300, 50),
        Report(300, 100, promised=1),
        Report(300, 100, stored=1),
        Report(300, 100, stored=-1),
        Report((1 << 63) - 1, 0),
    ],
)
def test_impossible_report_ends_the_link_and_does_not_count(report: Report) -> None:
    met = Met2(MemberReport(1, (Epoch(1, 0),), 0, 120)).welcome()
    met.all_of_log()
    sound = Report(200, 100)
    assert met.say(encode(sound)) == [Reported(sound)]
    (ended,) = met.say(encode(Report(300, 100)) + encode(report) + encode(Report(END, END)))
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.GARBAGE
    assert met.link.is_over


def test_last_of_several_reports_is_passed_on() -> None:
    met = Met2().welcome()
    met.all_of_log()
    data = b"".join(encode(Report(end, end // 2)) for end in range(0, END, 97))
    assert met.say(data) == [Reported(Report((END - 1) // 97 * 97, (END - 1) // 97 * 97 // 2))]


PLACES = st.integers(-10, END + 10)


@given(st.lists(st.tuples(PLACES, PLACES).map(lambda marks: Report(*marks)), max_size=8))
def test_follower_cannot_report_more_than_it_was_sent(reports: list[Report]) -> None:
    met = Met2().welcome()
    for report in reports:
        met.link.fill(0.0)
        sent = met.link.stream.sent
        met.say(encode(report))
        assert 0 <= met.link.report.flushed <= met.link.report.received <= sent


def test_diverged_follower_gets_no_log_and_does_not_count() -> None:
    met = Met2(MemberReport(1, (Epoch(7, 0),), 0, 120)).welcome()
    assert not met.link.has_room
    assert not met.say(encode(Report(120, 120)))
    assert met.link.report == Report(0, 0)


def test_output_is_bounded_and_none_is_made_for_a_peer_that_does_not_read() -> None:
    settings = StoreSettings(mapped_file_size_commit_log=4 << 20)
    master = Master({1}, settings=settings)
    for number in range(20):
        record = message(number)
        record.body = bytes(60_000)
        master.store.put(record)
        master.turn()
    assert master.store.log.end > 2 * OUTPUT_BYTES_MAX
    met = Met2(master=master).welcome()
    for _ in range(5):
        met.link.fill(0.0)
        met.link.send_heartbeat(1, 0, 0, 0.0)
    sent = met.frames()
    held = sum(len(each.data) for each in sent if isinstance(each, Data))
    assert OUTPUT_BYTES_MAX - 1000 <= held <= OUTPUT_BYTES_MAX
    assert [each for each in sent if isinstance(each, Heartbeat)] == [
        Heartbeat(1, master.store.log.end, 0, 0)
    ]
    met.link.is_held_up = True
    met.link.fill(1.0)
    met.link.send_heartbeat(1, 0, 0, 1.0)
    met.link.table(1, "offsets", b"x")
    assert not met.link.take_output()
    assert met.link.deadline() == 3.0, "nothing to do before the silence is too long"
    met.link.is_held_up = False
    assert met.link.has_room


# ---------------------------------------------------------------------- beats


def settled() -> Met2:
    """It has everything, and was told so."""
    met = Met2(MemberReport(1, (Epoch(1, 0),), 0, END)).welcome()
    assert met.link.deadline() < 0, "the first beat leaves at once"
    met.link.send_heartbeat(1, 100, 0, 0.0)
    assert met.frames()[-1] == Heartbeat(1, END, 100, 0)
    return met


def test_a_beat_leaves_every_half_second() -> None:
    met = settled()
    assert met.link.deadline() == 0.5
    met.link.send_heartbeat(1, 100, 0, 0.4)
    assert not met.frames()
    met.link.send_heartbeat(1, 100, 0, 0.5)
    assert met.frames() == [Heartbeat(1, END, 100, 0)]
    assert met.link.deadline() == 1.0


def test_safe_position_is_sent_soon_and_not_for_each_change() -> None:
    met = settled()
    for milliseconds in range(1, 20):
        met.link.send_heartbeat(1, 100 + milliseconds, 0, milliseconds / 1000)
    assert not met.frames()
    assert met.link.deadline() == 0.02
    met.link.send_heartbeat(1, 130, 0, 0.02)
    assert met.frames() == [Heartbeat(1, END, 130, 0)]


def test_a_safe_mark_leaves_sooner_beside_other_output_and_not_beside_each() -> None:
    met = settled()
    told = []
    for number, milliseconds in enumerate((4, 6, 10, 12), start=1):
        met.link.table(number, "offsets", b"{}")
        met.link.fill(milliseconds / 1000)
        met.link.send_heartbeat(1, 100 + milliseconds, 0, milliseconds / 1000)
        told.append(met.frames()[1:])
    assert told == [[], [Heartbeat(1, END, 106, 0)], [], [Heartbeat(1, END, 112, 0)]]


def test_question_for_a_promise_is_sent_at_once() -> None:
    met = settled()
    met.link.send_heartbeat(1, 100, 7, 0.001)
    assert met.frames() == [Heartbeat(1, END, 100, 7)]
    answer = Report(END, 0, promised=7)
    assert met.say(encode(answer)) == [Reported(answer)]


# ---------------------------------------------------------------------- tables


def test_a_table_that_was_replaced_is_sent_once() -> None:
    met = settled()
    met.link.table(5, "offsets", b"old")
    met.link.table(6, "topics", b"t")
    met.link.table(7, "offsets", b"new")
    assert met.link.missing_table == 5
    met.link.fill(0.0)
    assert met.frames() == [Table(1, "offsets", b"new"), Table(2, "topics", b"t")]
    assert met.link.missing_table == 5
    met.say(encode(Report(END, 0, stored=1)))
    assert met.link.missing_table == 6
    met.say(encode(Report(END, 0, stored=2)))
    assert met.link.missing_table is None


def test_a_table_that_changes_on_its_way_is_sent_again() -> None:
    met = settled()
    met.link.table(5, "offsets", b"old")
    met.link.fill(0.0)
    met.link.table(6, "offsets", b"new")
    met.say(encode(Report(END, 0, stored=1)))
    assert met.link.missing_table == 6
    met.link.fill(0.0)
    assert met.frames() == [Table(1, "offsets", b"old"), Table(2, "offsets", b"new")]


def test_follower_that_stores_no_table_gets_a_bounded_number() -> None:
    met = settled()
    for number in range(1, UNSTORED_MAX + 10):
        met.link.table(number, "offsets", b"%d" % number)
        met.link.fill(0.0)
    assert len(met.frames()) == UNSTORED_MAX
    assert not met.link.has_room
    met.say(encode(Report(END, 0, stored=1)))
    met.link.fill(0.0)
    assert met.frames() == [Table(UNSTORED_MAX + 1, "offsets", b"%d" % (UNSTORED_MAX + 9))]
