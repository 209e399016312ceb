"""Proves to both ends of a TLS connection between members that the other end knows the group's
secret, and that the connection leads there without a party in between.

    first 32 bytes of each end, inside of TLS    its proof

A proof (proofs.py) is made for the end that makes it, the group, and what tells the TLS connection
from all others. A party in between has two TLS connections, and cannot pass on a proof: so the
certificates need not be checked. Without TLS there is no such proof.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.ha.proofs import PROOF_BYTES, GroupSecret, statement

_DIALED: Final = b"TLS between members, dialed"
_ACCEPTED: Final = b"TLS between members, accepted"


@final
class ChannelProof:
    """One end of one connection: bytes go in, what lies behind the proof comes out."""

    __slots__ = ("_held", "_ours", "_secret", "_theirs", "is_done")

    def __init__(
        self, group: str, secret: GroupSecret, channel: bytes, *, was_dialed: bool
    ) -> None:
        """`was_dialed` by this end."""
        assert channel, "without TLS there is nothing to prove"
        self.is_done = False
        """Whether the other end has proved itself."""
        sides = (_DIALED, _ACCEPTED) if was_dialed else (_ACCEPTED, _DIALED)
        self._ours, self._theirs = (statement(side, group.encode(), channel) for side in sides)
        self._held = b""
        self._secret = secret

    def begin(self) -> bytes:
        """What is said first."""
        return self._secret.prove(self._ours)

    def receive(self, data: bytes) -> bytes:
        """What came behind the proof. Raises RemoteError."""
        if self.is_done:
            return data
        self._held += data
        if len(self._held) < PROOF_BYTES:
            return b""
        proof, rest = self._held[:PROOF_BYTES], self._held[PROOF_BYTES:]
        self._held = b""
        self._secret.must_have_made(proof, self._theirs, "the other end of the TLS connection")
        self.is_done = True
        return rest
