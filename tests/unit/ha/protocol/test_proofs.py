"""The group's secret proves that a peer belongs to the group, also while it is changed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.ha.protocol.proofs import PROOF_BYTES, GroupSecret, statement

OLD, NEW = b"the old secret", b"the new secret"
SAID = b"what both have said"


def believes(secret: GroupSecret, peer: GroupSecret) -> bool:
    """Whether the proof of the second is believed by the first."""
    try:
        secret.must_have_made(peer.prove(SAID), SAID, "the peer")
    except RemoteError:
        return False
    return True


def test_the_same_secret_proves_itself() -> None:
    proof = GroupSecret(OLD).prove(SAID)
    assert len(proof) == PROOF_BYTES
    GroupSecret(OLD).must_have_made(proof, SAID, "the peer")


@pytest.mark.parametrize(
    "given", [b"", b"\0" * PROOF_BYTES, GroupSecret(NEW).prove(SAID), GroupSecret(OLD).prove(b"")]
)
def test_other_bytes_are_not_a_proof(given: bytes) -> None:
    with pytest.raises(RemoteError, match="the peer does not know the group's secret: give all"):
        GroupSecret(OLD).must_have_made(given, SAID, "the peer")


def test_rolling_change_of_the_secret_never_breaks_a_link() -> None:
    steps = [(OLD,), (OLD, NEW), (NEW, OLD), (NEW,)]
    for before, after in pairwise(steps):
        for mine in (before, after):
            for theirs in (before, after):
                assert believes(GroupSecret(*mine), GroupSecret(*theirs)), (mine, theirs)
    assert not believes(GroupSecret(*steps[0]), GroupSecret(*steps[3]))
    assert not believes(GroupSecret(*steps[0]), GroupSecret(*steps[2])), (
        "a step may not be left out"
    )


def test_what_is_replaced_counts_from_the_next_proof_on() -> None:
    secret = GroupSecret(OLD)
    secret.replace([NEW, OLD])
    assert secret.prove(SAID) == GroupSecret(NEW).prove(SAID)
    assert believes(secret, GroupSecret(OLD))
    secret.replace([NEW])
    assert not believes(secret, GroupSecret(OLD))


def test_parts_cannot_be_moved_from_one_to_the_next() -> None:
    assert statement(b"ab", b"c") != statement(b"a", b"bc")
    assert statement(b"ab") != statement(b"ab", b"")
