"""Both ends of a TLS connection between members know that the other end is a member."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.ha.protocol.channel_proof import ChannelProof
from gantrymq.ha.protocol.proofs import PROOF_BYTES, GroupSecret

SECRET = GroupSecret(b"a secret of the group")


def proof(
    *,
    secret: GroupSecret = SECRET,
    group: str = "c/a",
    channel: bytes = b"one connection",
    was_dialed: bool = False,
) -> ChannelProof:
    return ChannelProof(group, secret, channel, was_dialed=was_dialed)


@given(st.lists(st.integers(1, 40), max_size=8))
def test_what_lies_behind_the_proof_comes_out_however_it_was_cut(sizes: list[int]) -> None:
    dialed, accepted = proof(was_dialed=True), proof()
    said, heard = dialed.begin() + b"what the member says", b""
    for size in (*sizes, len(said)):
        heard += accepted.receive(said[:size]) if said[:size] else b""
        said = said[size:]
    assert accepted.is_done
    assert heard == b"what the member says"
    assert dialed.receive(accepted.begin()) == b""
    assert dialed.is_done


@pytest.mark.parametrize(
    "other",
    [
        proof(secret=GroupSecret(b"another secret")),
        proof(group="c/b"),
        proof(channel=b"another connection"),
        proof(was_dialed=True),
    ],
    ids=["secret", "group", "connection", "own proof"],
)
def test_a_peer_that_differs_is_refused(other: ChannelProof) -> None:
    dialed = proof(was_dialed=True)
    with pytest.raises(RemoteError, match="the other end of the TLS connection does not know"):
        dialed.receive(other.begin())
    assert not dialed.is_done


def test_bytes_are_ignored_before_the_proof() -> None:
    accepted = proof()
    assert accepted.receive(b"\0" * (PROOF_BYTES - 1)) == b""
    with pytest.raises(RemoteError):
        accepted.receive(b"\0")
