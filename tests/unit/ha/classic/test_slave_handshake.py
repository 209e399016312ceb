"""A master of fixed roles and its slave prove themselves to each other; other peers cannot."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.ha.classic.slave_handshake import Broker, MasterHandshake, SlaveHandshake
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.protocol.handshake import (
    IncomingHandshake,
    Member,
    MemberReport,
    OutgoingHandshake,
)
from gantrymq.ha.protocol.member_frames import OPENING, HandshakeFrame, Kind, encode
from gantrymq.ha.protocol.proofs import GroupSecret

SECRET = GroupSecret(b"a secret of the group")
MASTER = Broker("c/a", 0, SECRET, b"m" * 16)
SLAVE = Broker("c/a", 1, SECRET, b"s" * 16)
SIZES = {Kind.PROOF: 32, Kind.JOINING: 2, Kind.REPORT: 33, Kind.DATA: 9, Kind.CHALLENGE: 2}


def meet(master: Broker = MASTER, slave: Broker = SLAVE, cut: int = 1 << 20) -> MasterHandshake:
    """Both ends talk until neither has anything to say, however the network cuts that."""
    masters, slaves = MasterHandshake(master), SlaveHandshake(slave)
    said = slaves.begin()
    for _ in range(3):
        answer = b"".join(masters.receive(each) for each in pieces(said, cut))
        said = b"".join(slaves.receive(each) for each in pieces(answer, cut))
    assert slaves.is_done == masters.is_done
    return masters


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(st.integers(1, 300))
def test_both_prove_themselves(cut: int) -> None:
    assert meet(cut=cut).is_done


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"secret": GroupSecret(b"another secret of a group")}, "the master does not know"),
        (
            {"group": "c/b"},
            "the peer belongs to 'c/b with fixed roles', and this broker to 'c/a with",
        ),
        ({"broker_id": 0}, "which is the id of a master"),
        ({"channel": b"another TLS connection"}, "the master does not know"),
    ],
)
def test_a_peer_that_differs_is_refused(change: dict[str, object], told: str) -> None:
    with pytest.raises(RemoteError, match=told):
        meet(slave=dataclasses.replace(SLAVE, **change))  # type: ignore[arg-type]


def test_slave_checks_the_proof_of_its_master_first() -> None:
    """What it has heard from a stranger gets no proof that could be passed on."""
    slave = SlaveHandshake(SLAVE)
    stranger = MasterHandshake(dataclasses.replace(MASTER, secret=GroupSecret(b"x" * 16)))
    with pytest.raises(RemoteError):
        slave.receive(stranger.receive(slave.begin()))


def test_proof_is_invalid_on_another_connection() -> None:
    slave = SlaveHandshake(SLAVE)
    said = slave.begin()
    proof = slave.receive(MasterHandshake(MASTER).receive(said))
    other = MasterHandshake(dataclasses.replace(MASTER, nonce=b"n" * 16))
    other.receive(said)
    with pytest.raises(RemoteError, match="the slave, broker 1, does not know"):
        other.receive(proof)
    assert not other.is_done


def test_a_masters_proof_is_none_of_a_slaves() -> None:
    master = MasterHandshake(MASTER)
    challenge = master.receive(SlaveHandshake(SLAVE).begin())
    stolen = bytes.fromhex(challenge.decode("latin-1").split('"proof":"')[1][:64])
    with pytest.raises(RemoteError, match="does not know"):
        master.receive(encode(HandshakeFrame(Kind.PROOF, stolen)))


@pytest.mark.parametrize("kind", SIZES)
def test_nothing_comes_before_the_hello(kind: Kind) -> None:
    master = MasterHandshake(MASTER)
    with pytest.raises(RemoteError, match="unexpected frame"):
        master.receive(OPENING + encode(HandshakeFrame(kind, bytes(SIZES[kind]))))


def test_nothing_comes_with_the_hello() -> None:
    master = MasterHandshake(MASTER)
    with pytest.raises(RemoteError, match="unexpected frame proof"):
        master.receive(
            SlaveHandshake(SLAVE).begin() + encode(HandshakeFrame(Kind.PROOF, b"\0" * 32))
        )


def test_handshake_frame_is_bounded() -> None:
    master = MasterHandshake(MASTER)
    with pytest.raises(RemoteError, match="invalid frame of kind b'H' and 4097 bytes"):
        master.receive(OPENING + b"H" + (4097).to_bytes(4, "big"))


def test_java_master_is_distinguished_from_one_with_a_proof() -> None:
    with pytest.raises(RemoteError, match="the connection begins with 00 00 00 00 00 00 00 00"):
        SlaveHandshake(SLAVE).receive(bytes(12))


def test_members_that_elect_and_brokers_of_fixed_roles_do_not_mix() -> None:
    member = Member("c/a", 1, "boot")
    peer_handshake = IncomingHandshake(member, SECRET, b"m" * 16)
    hello = HandshakeFrame(Kind.HELLO, SlaveHandshake(SLAVE).begin()[len(OPENING) + 5 :])
    with pytest.raises(RemoteError, match="the peer belongs to the group"):
        peer_handshake.take(hello)
    member_report = MemberReport(1, (Epoch(1, 0),), 0, 0)
    member = dataclasses.replace(member, number=2)
    begin = OutgoingHandshake(member, SECRET, b"f" * 16, member_report).begin()
    with pytest.raises(RemoteError, match="the peer belongs to 'c/a', and this"):
        MasterHandshake(MASTER).receive(begin)


@given(st.integers(0, 400), st.integers(1, 255))
def test_any_damaged_byte_does_no_harm(at: int, flip: int) -> None:
    """One byte that the slave sends is changed: the master refuses it, or waits for more."""
    slave, master = SlaveHandshake(SLAVE), MasterHandshake(MASTER)
    said, sent = slave.begin(), 0
    try:
        while said:
            damaged = bytearray(said)
            if sent <= at < sent + len(said):
                damaged[at - sent] ^= flip
            sent += len(said)
            said = slave.receive(master.receive(bytes(damaged)))
    except RemoteError:
        assert not master.is_done
        return
    assert master.is_done == (at >= sent), "only what was damaged is not believed"
