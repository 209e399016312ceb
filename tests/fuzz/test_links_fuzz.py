"""Fuzzes the links between members: no input raises, is held, or is believed without proof."""

from __future__ import annotations

from collections.abc import Callable

from gantrymq.fakes.groups.group import SECRET, Master, filled, member, member_report
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.member.links.incoming_link import IncomingLink
from gantrymq.ha.member.links.member_events import Refused, Welcomed
from gantrymq.ha.member.links.outgoing_link import OutgoingLink
from gantrymq.ha.protocol import handshake
from gantrymq.ha.protocol.events import Copied, Ended
from gantrymq.ha.protocol.handshake import IncomingHandshake, MemberReport, OutgoingHandshake
from gantrymq.ha.protocol.member_frames import (
    OPENING,
    HandshakeFrame,
    Heartbeat,
    Kind,
    MemberReader,
    Report,
    encode,
    encode_data_head,
    encode_table_head,
)

Fuzz = Callable[[list[bytes], Callable[[bytes], None]], None]

OURS = MemberReport(1, (Epoch(1, 0),), 0, 100)
EMPTY = MemberReport(1, (), 0, 0)


def frames(data: bytes) -> list[HandshakeFrame]:
    return [each for each in MemberReader(*Kind).decode(data) if isinstance(each, HandshakeFrame)]


def peer_handshake() -> tuple[list[bytes], list[bytes]]:
    """The output of follower and master until they have authenticated each other."""
    follower = OutgoingHandshake(member(2), SECRET, b"f" * 16, EMPTY)
    master = IncomingHandshake(member(1), SECRET, b"m" * 16)
    hello = follower.begin()
    challenge, _ = master.take(frames(hello)[0])
    proof, _ = follower.take(frames(challenge)[0])
    return [hello, proof], [challenge]


def test_input_from_followers(fuzz: Fuzz) -> None:
    """Peers without and with a proof of the group's secret."""
    master = filled(Master({1}), 20)
    said, _ = peer_handshake()
    whole = b"".join(said)
    ours = member_report(master, master.epoch, master.epochs)
    reports = [encode(Report(end, end // 2)) for end in (0, 119, 500, 1 << 62)]

    def check(data: bytes) -> None:
        for before in (b"", whole):
            met = IncomingHandshake(member(1), SECRET, b"m" * 16)
            link = IncomingLink(1, "10.0.0.9:40000", met, master.store, 0.0)
            if before:
                link.receive(before, 0.0)
                link.welcome(ours, 0.0)
                link.fill(0.0)
            events = link.receive(data, 0.0)
            assert not any(isinstance(each, Ended) for each in events[:-1])
            report = link.report
            assert 0 <= report.flushed <= report.received <= link.stream.sent
            assert report.promised == report.stored == 0

    fuzz([OPENING, *said, whole, *reports], check)


def test_input_from_masters(fuzz: Fuzz) -> None:
    """Peers without and with a proof of the group's secret."""
    _, (challenge,) = peer_handshake()
    welcome = handshake.welcome(MemberReport(1, (Epoch(1, 0),), 0, 900))
    refusal = handshake.refusal("not-master", "member 1 is not master", OURS)
    data = encode_data_head(100, 3) + b"abc"
    table = encode_table_head(1, "offsets", 2) + b"{}"
    beat = encode(Heartbeat(1, 900, 50, 0))

    def check(said: bytes) -> None:
        for before in (b"", challenge + welcome):
            link = OutgoingLink(member(2), SECRET, b"f" * 16, OURS, 0.0)
            if before:
                link = OutgoingLink(member(2), SECRET, b"f" * 16, EMPTY, 0.0)
                link.receive(before, 0.0)
            position = 0 if before else 100
            events = link.receive(said, 0.0)
            assert not any(isinstance(each, Ended | Refused) for each in events[:-1])
            for event in events:
                assert before or not isinstance(event, Welcomed | Copied) or challenge in said
                if isinstance(event, Copied):
                    assert event.position == position
                    position += len(event.data)

    fuzz([OPENING, challenge, welcome, refusal, data, table, beat], check)
