"""Tests the handshake between two members, and its refusal of other peers."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.lease.lease import EPOCH_MAX
from gantrymq.ha.protocol.handshake import (
    HEARD_EPOCH_MAX,
    IncomingHandshake,
    Member,
    MemberReport,
    OutgoingHandshake,
    RefusedError,
    refusal,
    resume_position,
    welcome,
)
from gantrymq.ha.protocol.member_frames import HandshakeFrame, Kind, MemberReader
from gantrymq.ha.protocol.proofs import GroupSecret

MASTER = Member("broker-a", 1, "boot-1")
FOLLOWER = Member("broker-a", 2, "boot-2")
OURS = MemberReport(3, (Epoch(1, 0), Epoch(3, 500)), 0, 700)
THEIRS = MemberReport(4, (Epoch(1, 0), Epoch(4, 600)), 100, 900)
SECRET = GroupSecret(b"secret")


def frames(data: bytes) -> list[HandshakeFrame]:
    """The handshake frames in the bytes that one side has sent from the beginning."""
    reader = MemberReader(*Kind)
    heard = list(reader.decode(data))
    assert not reader.failure
    return [each for each in heard if isinstance(each, HandshakeFrame)]


class Meeting:
    """Both sides, and all that each has said."""

    def __init__(
        self,
        *,
        follower: Member = FOLLOWER,
        followers_secret: GroupSecret = SECRET,
        masters_nonce: bytes = b"m" * 16,
    ) -> None:
        self.follower = OutgoingHandshake(follower, followers_secret, b"f" * 16, OURS)
        self.master = IncomingHandshake(MASTER, SECRET, masters_nonce)
        self.by_follower = self.follower.begin()
        self.by_master = b""

    def to_master(self, number: int) -> MemberReport | None:
        said, member_report = self.master.take(frames(self.by_follower)[number])
        self.by_master += said
        return member_report

    def to_follower(self, number: int) -> MemberReport | None:
        said, member_report = self.follower.take(frames(self.by_master)[number])
        self.by_follower += said
        return member_report

    def prove(self) -> MemberReport | None:
        assert self.to_master(0) is None
        assert self.to_follower(0) is None
        assert self.to_master(1) is None
        return self.to_master(2)


def test_both_sides_learn_the_report_of_the_other() -> None:
    peer_handshake = Meeting()
    assert peer_handshake.prove() == OURS
    assert peer_handshake.master.follower == FOLLOWER
    peer_handshake.by_master += welcome(THEIRS)
    assert peer_handshake.to_follower(1) == THEIRS


def test_a_follower_may_be_refused() -> None:
    peer_handshake = Meeting()
    peer_handshake.prove()
    theirs = THEIRS._replace(is_electable=False, sure_to=700)
    peer_handshake.by_master += refusal("stale", "there is a newer master", theirs)
    with pytest.raises(RefusedError, match="a newer master") as refused:
        peer_handshake.to_follower(1)
    assert (refused.value.reason, refused.value.member_report) == ("stale", theirs)
    assert peer_handshake.follower.master == MASTER


def test_member_that_has_seen_an_epoch_above_the_last_is_accepted() -> None:
    peer_handshake = Meeting()
    peer_handshake.prove()
    seen = THEIRS._replace(epoch=EPOCH_MAX + 1)
    peer_handshake.by_master += welcome(seen)
    assert peer_handshake.to_follower(1) == seen


def test_epoch_above_the_bound_is_refused() -> None:
    peer_handshake = Meeting()
    peer_handshake.prove()
    peer_handshake.by_master += welcome(THEIRS._replace(epoch=HEARD_EPOCH_MAX + 1))
    with pytest.raises(RemoteError, match="no group gets there"):
        peer_handshake.to_follower(1)


def test_report_of_a_verified_part_behind_the_log_end_is_refused() -> None:
    peer_handshake = Meeting()
    peer_handshake.prove()
    peer_handshake.by_master += welcome(THEIRS._replace(sure_to=THEIRS.end + 1))
    with pytest.raises(RemoteError, match="is sure to 901"):
        peer_handshake.to_follower(1)


def test_neither_side_is_accepted_without_the_secret() -> None:
    peer_handshake = Meeting(followers_secret=GroupSecret(b"another"))
    peer_handshake.to_master(0)
    with pytest.raises(RemoteError, match="does not know the group's secret"):
        peer_handshake.to_follower(0)
    true = Meeting()
    true.to_master(0)
    true.to_follower(0)
    (_, proof, _) = frames(true.by_follower)
    other = Meeting(masters_nonce=b"n" * 16)
    other.to_master(0)
    with pytest.raises(RemoteError, match="member 2 does not know"):
        other.master.take(proof)


def test_a_masters_proof_is_none_of_a_followers() -> None:
    peer_handshake = Meeting()
    peer_handshake.to_master(0)
    (challenge,) = frames(peer_handshake.by_master)
    stolen = bytes.fromhex(challenge.body.decode().split('"proof":"')[1][:64])
    with pytest.raises(RemoteError, match="does not know"):
        peer_handshake.master.take(HandshakeFrame(Kind.PROOF, stolen))


@pytest.mark.parametrize(
    ("follower", "why"),
    [
        (Member("broker-b", 2, "x"), "to the group 'broker-b'"),
        (Member("broker-a", 1, "x"), "which is this member"),
        (Member("broker-a", 0, "x"), "counted from 1"),
    ],
)
def test_peer_of_another_group_or_number_gets_the_reason(follower: Member, why: str) -> None:
    with pytest.raises(RemoteError, match=why):
        Meeting(follower=follower).to_master(0)


@pytest.mark.parametrize("number", [1, 2])
def test_frame_out_of_order_is_refused(number: int) -> None:
    peer_handshake = Meeting()
    peer_handshake.to_master(0)
    peer_handshake.to_follower(0)
    frame = frames(peer_handshake.by_follower)[number]
    with pytest.raises(RemoteError, match="unexpected frame"):
        IncomingHandshake(MASTER, SECRET, b"m" * 16).take(frame)
    with pytest.raises(RemoteError, match="unexpected frame"):
        OutgoingHandshake(FOLLOWER, SECRET, b"f" * 16, OURS).take(
            HandshakeFrame(Kind.WELCOME, b"{}")
        )


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b"{}",
        b'{"epoch":3,"epochs":[[3,500],[1,0]],"start":0,"end":700}',
        b'{"epoch":3,"epochs":[[1]],"start":0,"end":700}',
        b'{"epoch":3,"epochs":[],"start":701,"end":700}',
        b'{"epoch":-3,"epochs":[],"start":0,"end":700}',
    ],
)
def test_impossible_member_report_is_refused(body: bytes) -> None:
    peer_handshake = Meeting()
    peer_handshake.prove()
    with pytest.raises(RemoteError):
        peer_handshake.master.take(HandshakeFrame(Kind.JOINING, body))


@pytest.mark.parametrize(
    ("epochs", "start", "end", "begins"),
    [
        ((), 0, 0, 100),
        ((Epoch(1, 0),), 700, 700, 100),
        ((Epoch(1, 0),), 0, 300, 300),
        ((Epoch(1, 0),), 0, 600, 600),
        ((Epoch(1, 0), Epoch(4, 600)), 0, 900, 900),
        ((Epoch(1, 0),), 0, 601, None),
        ((Epoch(1, 0), Epoch(3, 500)), 0, 600, None),
        ((Epoch(1, 0), Epoch(4, 600)), 0, 901, None),
        ((Epoch(2, 0),), 0, 300, None),
        ((Epoch(1, 0),), 0, 99, None),
    ],
)
def test_a_log_goes_on_with_another_where_it_is_equal_to_its_end(
    epochs: tuple[Epoch, ...], start: int, end: int, begins: int | None
) -> None:
    assert resume_position(MemberReport(4, epochs, start, end), THEIRS) == begins


def test_what_may_be_damaged_is_sent_once_more() -> None:
    doubtful = MemberReport(4, (Epoch(1, 0),), 0, 300, is_electable=False, sure_to=200)
    assert resume_position(doubtful, THEIRS) == 200
    assert resume_position(doubtful._replace(sure_to=20), THEIRS) == THEIRS.start
    assert resume_position(doubtful._replace(end=601, sure_to=300), THEIRS) is None


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 3000 + b"]" * 3000,
        b'{"group":"broker-a","member":2,"boot":"x","nonce":"' + b"0" * 31 + b'"}',
        b'{"group":"broker-a","member":2,"boot":"x","nonce":"' + "\u0660".encode() * 16 + b'"}',
        b'{"group":"broker-a","member":1e400,"boot":"x","nonce":"' + b"0" * 32 + b'"}',
        b"\xff\xfe",
    ],
)
def test_garbage_from_a_peer_is_a_remote_error(body: bytes) -> None:
    with pytest.raises(RemoteError):
        IncomingHandshake(MASTER, SECRET, b"m" * 16).take(HandshakeFrame(Kind.HELLO, body))


def test_invalid_unicode_is_accepted() -> None:
    nonce = b'","nonce":"' + b"0" * 32 + b'"}'
    body = b'{"group":"broker-a","member":2,"boot":"\\ud800' + nonce
    said, _ = IncomingHandshake(MASTER, SECRET, b"m" * 16).take(HandshakeFrame(Kind.HELLO, body))
    assert frames(said)[0].kind is Kind.CHALLENGE


def test_what_a_member_says_of_itself_is_part_of_its_proof() -> None:
    peer_handshake = Meeting()
    peer_handshake.by_follower = peer_handshake.by_follower.replace(b"boot-2", b"boot-3")
    peer_handshake.to_master(0)
    with pytest.raises(RemoteError, match="does not know the group's secret"):
        peer_handshake.to_follower(0)
