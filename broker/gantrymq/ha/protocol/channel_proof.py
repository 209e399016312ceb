"""Proves to both ends of a TLS connection between members that the peer knows the group's secret.

The proof also shows that there is no man in the middle.

    first 32 bytes of each end, inside TLS    its proof

A proof (proofs.py) covers the end that makes it, the group, and the channel binding of the TLS
connection. A man in the middle has two TLS connections and cannot pass on a proof, so certificates
need not be checked. Without TLS this proof is not available.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.ha.protocol.proofs import PROOF_BYTES, GroupSecret, statement

_DIALED: Final = b"TLS between members, dialed"
_ACCEPTED: Final = b"TLS between members, accepted"


@final
class ChannelProof:
    """One end of one connection: received bytes go in, the bytes that follow the proof come out."""

    __slots__ = ("_held", "_ours", "_secret", "_theirs", "is_done")

    def __init__(
        self, group: str, secret: GroupSecret, channel: bytes, *, was_dialed: bool
    ) -> None:
        """`was_dialed`: whether this end opened the connection."""
        assert channel, "without TLS there is nothing to prove"
        self.is_done = False
        """Whether the peer has proved that it knows the secret."""
        sides = (_DIALED, _ACCEPTED) if was_dialed else (_ACCEPTED, _DIALED)
        self._ours, self._theirs = (statement(side, group.encode(), channel) for side in sides)
        self._held = b""
        self._secret = secret

    def begin(self) -> bytes:
        """The proof to send first."""
        return self._secret.prove(self._ours)

    def receive(self, data: bytes) -> bytes:
        """The bytes received after the peer's proof. Raises RemoteError if the proof is wrong."""
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
