"""Proves that the other end of a link knows the group's secret, without showing the secret.

    proof    32 bytes, an HMAC-SHA256 by the secret of everything that both ends have said

A group has one secret, or two while it is being changed: the first one makes proofs, and either
one is believed. A change old -> old and new -> new and old -> new, one process after the other in
each step, never meets an end that does not believe the other one.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Final, final

from gantrymq.base.errors import RemoteError

PROOF_BYTES: Final = 32

# The old one and the new one.
SECRETS_MAX: Final = 2


@final
class GroupSecret:
    """What the members of a group know each other by; the process has one object, whose owner
    replaces its content when the secret is changed."""

    __slots__ = ("_secrets",)

    def __init__(self, *secrets: bytes) -> None:
        self._secrets: tuple[bytes, ...] = secrets
        self.replace(secrets)

    def replace(self, secrets: Sequence[bytes]) -> None:
        """Links that are proven stay; the next proofs are made by the first of these."""
        assert 1 <= len(secrets) <= SECRETS_MAX
        self._secrets = tuple(secrets)

    def prove(self, said: bytes) -> bytes:
        """Our own proof for what was said."""
        return _proof(self._secrets[0], said)

    def must_have_made(self, proof: bytes, said: bytes, peer: str) -> None:
        """RemoteError unless the peer, which said this, knows one of our secrets."""
        if not any(hmac.compare_digest(_proof(each, said), proof) for each in self._secrets):
            raise RemoteError(
                f"{peer} does not know the group's secret: give all brokers of the group the same"
                " groupSecretFile, and while it is changed both the old and the new secret"
            )


def statement(*parts: bytes) -> bytes:
    """What a proof is made for. Each part has its length before it: no two lists of parts are
    written the same."""
    return b"".join(len(each).to_bytes(4, "big") + each for each in parts)


def _proof(secret: bytes, said: bytes) -> bytes:
    return hmac.digest(secret, said, "sha256")
