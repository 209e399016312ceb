"""Which peers may be sent the log of a master of fixed roles, and may acknowledge it."""

from __future__ import annotations

import struct

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.ha.classic.slave_admission import PROOF_SECONDS, AdmissionSettings, SlaveAdmission
from gantrymq.ha.classic.slave_handshake import Broker, SlaveHandshake
from gantrymq.ha.protocol.member_frames import OPENING
from gantrymq.ha.protocol.proofs import GroupSecret

SECRET = GroupSecret(b"a secret of the group")
ATTACK = struct.pack(">q", 0)


def admission(
    *, secret: GroupSecret | None = SECRET, takes_unproven: bool = False
) -> SlaveAdmission:
    return SlaveAdmission(AdmissionSettings("c/a", secret, takes_unproven), b"m" * 16, 100.0)


def slave(secret: GroupSecret = SECRET) -> SlaveHandshake:
    return SlaveHandshake(Broker("c/a", 1, secret, b"s" * 16))


def test_a_peer_that_proves_itself_is_admitted() -> None:
    asked, slaves = admission(), slave()
    said = slaves.receive(asked.receive(slaves.begin()))
    before = asked.is_admitted
    slaves.receive(asked.receive(said))
    assert slaves.is_done
    assert not before
    assert asked.is_admitted
    assert asked.is_proven
    assert asked.first == b""


@pytest.mark.parametrize("said", [ATTACK, ATTACK[:1], b"GET / HTTP/1.1\r\n\r\n", b"\xfe", b"\xffH"])
def test_a_peer_that_proves_nothing_is_refused_at_once(said: bytes) -> None:
    asked = admission()
    with pytest.raises(RemoteError, match="haAllowUnauthenticatedSlaves=true at this master"):
        asked.receive(said)
    assert not asked.is_admitted


def test_a_peer_with_another_secret_is_not_admitted() -> None:
    asked, slaves = admission(), slave(GroupSecret(b"another secret of a group"))
    challenge = asked.receive(slaves.begin())
    with pytest.raises(RemoteError, match="the master does not know"):
        slaves.receive(challenge)
    assert not asked.is_admitted


def test_a_slave_of_java_is_admitted_where_it_is_allowed() -> None:
    for secret in (None, SECRET):
        asked = admission(secret=secret, takes_unproven=True)
        assert asked.receive(b"\0" * 7) == b""
        before = asked.is_admitted
        assert asked.receive(b"\0" * 9) == b""
        assert asked.is_admitted
        assert not before, "a report is eight bytes"
        assert not asked.is_proven
        assert asked.first == bytes(16)


def test_peer_may_prove_itself_where_no_proof_is_required() -> None:
    asked, slaves = admission(takes_unproven=True), slave()
    slaves.receive(asked.receive(slaves.receive(asked.receive(slaves.begin()))))
    assert asked.is_proven


def test_a_master_without_a_secret_says_that_it_has_none() -> None:
    for takes_unproven in (False, True):
        asked = admission(secret=None, takes_unproven=takes_unproven)
        assert asked.receive(OPENING[:7]) == b""
        with pytest.raises(RemoteError, match="this master has none: set groupSecretFile here"):
            asked.receive(OPENING[7:])


def test_there_is_a_moment_to_prove_and_longer_for_slaves_of_java() -> None:
    assert admission().deadline == 100.0 + PROOF_SECONDS
    assert "haAllowUnauthenticatedSlaves=true at this master" in admission().too_late
    assert admission(takes_unproven=True).deadline == 120.0
    assert "sent nothing for 20 s" in admission(takes_unproven=True).too_late
