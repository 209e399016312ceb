"""The dialing end: what it says, what it hands on, what it does not believe."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.fakes.groups.group import SECRET, member
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.member.links.member_events import (
    HeartbeatReceived,
    Refused,
    TableReceived,
    Welcomed,
)
from gantrymq.ha.member.links.outgoing_link import OutgoingLink
from gantrymq.ha.protocol import handshake
from gantrymq.ha.protocol.events import Copied, Ended, Ending
from gantrymq.ha.protocol.handshake import IncomingHandshake, MemberReport
from gantrymq.ha.protocol.member_frames import (
    HandshakeFrame,
    Heartbeat,
    Kind,
    MemberReader,
    Report,
    encode,
    encode_data_head,
    encode_table_head,
)
from gantrymq.ha.protocol.proofs import GroupSecret

OURS = MemberReport(1, (Epoch(1, 0),), 0, 100)
THEIRS = MemberReport(3, (Epoch(1, 0), Epoch(3, 100)), 0, 900)
EMPTY = MemberReport(1, (), 0, 0)


def data(position: int, content: bytes) -> bytes:
    return encode_data_head(position, len(content)) + content


def table(number: int, content: bytes = b"{}") -> bytes:
    return encode_table_head(number, "offsets", len(content)) + content


class Dialed:
    """A link, and what it has said."""

    def __init__(self, ours: MemberReport = OURS) -> None:
        self.link = OutgoingLink(member(2), SECRET, b"f" * 16, ours, 0.0)
        self.peer_handshake = IncomingHandshake(member(1), SECRET, b"m" * 16)
        self.reader = MemberReader(*Kind)
        self.challenge = b""

    def meet(self) -> Dialed:
        for frame in self.frames():
            assert isinstance(frame, HandshakeFrame)
            self.challenge += self.peer_handshake.take(frame)[0]
        assert not self.link.receive(self.challenge, 0.0)
        for frame in self.frames():
            assert isinstance(frame, HandshakeFrame)
            self.peer_handshake.take(frame)
        return self

    def welcome(self, theirs: MemberReport = THEIRS) -> Dialed:
        self.meet()
        (welcomed,) = self.link.receive(handshake.welcome(theirs), 0.0)
        assert isinstance(welcomed, Welcomed)
        assert self.frames() == [Report(self.link._report.received, 0)]
        return self

    def frames(self) -> Sequence[object]:
        return list(self.reader.decode(b"".join(self.link.take_output())))


def test_follower_learns_where_the_logs_diverge() -> None:
    for ours, divergence, begins in (
        (OURS, 100, 100),
        (EMPTY, None, 0),
        (MemberReport(2, (Epoch(1, 0), Epoch(2, 50)), 0, 100), 50, None),
        (MemberReport(1, (Epoch(1, 0),), 0, 101), 100, None),
        (MemberReport(2, (Epoch(2, 0),), 0, 100), None, None),
    ):
        dialed = Dialed(ours).meet()
        (welcomed,) = dialed.link.receive(handshake.welcome(THEIRS), 0.0)
        assert welcomed == Welcomed(member(1), THEIRS, divergence, begins)


def test_master_sends_nothing_to_a_diverged_follower() -> None:
    dialed = Dialed(MemberReport(2, (Epoch(2, 0),), 0, 100)).welcome()
    (ended,) = dialed.link.receive(data(100, b"abc"), 1.0)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.GARBAGE


def test_refusal_contains_the_report_of_the_peer() -> None:
    dialed = Dialed().meet()
    frame = handshake.refusal("not-master", "member 1 is not master", THEIRS)
    (refused,) = dialed.link.receive(frame + table(1), 0.0)
    assert refused == Refused(member(1), "not-master", "member 1 is not master", THEIRS)
    assert dialed.link.is_over


def test_master_without_the_secret_is_refused() -> None:
    dialed = Dialed()
    peer_handshake = IncomingHandshake(member(1), GroupSecret(b"another"), b"m" * 16)
    (hello,) = dialed.frames()
    assert isinstance(hello, HandshakeFrame)
    (ended,) = dialed.link.receive(peer_handshake.take(hello)[0] + handshake.welcome(THEIRS), 0.0)
    assert isinstance(ended, Ended)
    assert "does not know the group's secret" in ended.text
    assert not dialed.frames()


def test_every_damaged_byte_of_the_meeting_is_found_or_does_no_harm() -> None:
    whole = Dialed().meet().challenge + handshake.welcome(THEIRS)
    for at in range(len(whole)):
        for flip in (1, 0x80):
            damaged = bytearray(whole)
            damaged[at] ^= flip
            link = OutgoingLink(member(2), SECRET, b"f" * 16, OURS, 0.0)
            for event in link.receive(bytes(damaged), 0.0):
                assert not isinstance(event, Copied | TableReceived | HeartbeatReceived)
                assert not isinstance(event, Welcomed) or event.master == member(1)


def test_what_comes_together_is_handed_on_in_order() -> None:
    dialed = Dialed().welcome()
    beats = encode(Heartbeat(3, 900, 50, 0)) + encode(Heartbeat(3, 905, 60, 1))
    said = data(100, b"abc") + data(103, b"de") + table(1) + beats + data(105, b"f")
    assert dialed.link.receive(said, 1.0) == [
        Copied(100, b"abcde"),
        TableReceived(1, "offsets", b"{}"),
        Copied(105, b"f"),
        HeartbeatReceived(Heartbeat(3, 905, 60, 1)),
    ]


def test_what_comes_with_the_welcome_is_handed_on() -> None:
    dialed = Dialed().meet()
    events = dialed.link.receive(handshake.welcome(THEIRS) + data(100, b"abc"), 0.0)
    assert events[1:] == [Copied(100, b"abc")]


def test_another_log_ends_the_link_and_what_came_before_is_kept() -> None:
    for position in (0, 102, 104):
        dialed = Dialed().welcome()
        copied, ended = dialed.link.receive(data(100, b"abc") + data(position, b"d"), 1.0)
        assert copied == Copied(100, b"abc")
        assert isinstance(ended, Ended)
        assert ended.ending is Ending.DIVERGED


def test_tables_are_counted() -> None:
    dialed = Dialed().welcome()
    assert len(dialed.link.receive(table(1) + table(2), 1.0)) == 2
    (ended,) = dialed.link.receive(table(4), 1.0)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.GARBAGE


def test_a_report_leaves_when_something_has_changed_and_once_a_turn() -> None:
    dialed = Dialed().welcome()
    dialed.link.report(100, 0, 0, 0, 0.1)
    assert not dialed.frames()
    dialed.link.report(120, 100, 0, 0, 0.2)
    dialed.link.report(130, 100, 0, 1, 0.2)
    assert dialed.frames() == [Report(130, 100, 0, 1)]
    assert not dialed.frames()
    assert dialed.link.deadline() == 0.7
    assert not dialed.link.expire(0.7)
    assert dialed.frames() == [Report(130, 100, 0, 1)]


def test_follower_reports_that_it_leaves() -> None:
    dialed = Dialed().welcome()
    dialed.link.report(100, 0, 0, 0, 0.1, is_leaving=True)
    (report,) = dialed.frames()
    assert isinstance(report, Report)
    assert report.is_leaving


def test_follower_reports_whether_it_could_accept_messages() -> None:
    dialed = Dialed().welcome()
    said = []
    for number, is_refusing in enumerate((True, True, False)):
        dialed.link.report(100, 0, 0, 0, 0.1 + number, is_refusing=is_refusing)
        said += [each.is_refusing for each in dialed.frames() if isinstance(each, Report)]
    assert said == [True, False]


def test_nothing_is_reported_before_the_welcome() -> None:
    dialed = Dialed().meet()
    dialed.link.report(100, 100, 0, 0, 0.1)
    assert not dialed.frames()


def test_an_empty_log_has_nothing_wherever_it_begins() -> None:
    dialed = Dialed(MemberReport(1, (), 8192, 8192)).welcome(
        MemberReport(3, (Epoch(1, 0),), 4096, 9000)
    )
    dialed.link.report(8192, 8192, 0, 0, 0.1)
    assert not dialed.frames()
    assert dialed.link.receive(data(4096, b"abc"), 0.2) == [Copied(4096, b"abc")]
    dialed.link.report(4099, 4096, 0, 0, 0.2)
    assert dialed.frames() == [Report(4099, 4096)]


def test_silence_ends_the_connection_after_the_timeout() -> None:
    dialed = Dialed()
    assert dialed.link.deadline() == 3.0
    dialed.meet().link.receive(handshake.welcome(THEIRS), 2.0)
    assert not dialed.link.expire(4.9)
    (ended,) = dialed.link.expire(5.0)
    assert isinstance(ended, Ended)
    assert ended.ending is Ending.SILENT


def test_master_that_does_not_finish_the_handshake_is_disconnected() -> None:
    dialed = Dialed().meet()
    dialed.link.receive(handshake.welcome(THEIRS)[:20], 2.9)
    (ended,) = dialed.link.expire(3.0)
    assert isinstance(ended, Ended)


@given(st.binary(max_size=200))
def test_garbage_is_not_passed_on(garbage: bytes) -> None:
    link = OutgoingLink(member(2), SECRET, b"f" * 16, OURS, 0.0)
    for event in link.receive(garbage, 1.0):
        assert isinstance(event, Ended)


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=10), st.lists(st.integers(1, 50)))
def test_data_may_be_cut_anywhere(bodies: list[bytes], sizes: list[int]) -> None:
    dialed = Dialed().welcome()
    position, said = 100, b""
    for body in bodies:
        said += data(position, body) + encode(Heartbeat(3, 900, 50, 0))
        position += len(body)
    copied = b""
    for size in [*sizes, len(said)]:
        for event in dialed.link.receive(said[:size], 1.0):
            if isinstance(event, Copied):
                assert event.position == 100 + len(copied)
                copied += event.data
            else:
                assert isinstance(event, HeartbeatReceived)
        said = said[size:]
    assert copied == b"".join(bodies)
