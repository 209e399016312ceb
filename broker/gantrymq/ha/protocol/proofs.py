"""Proves that the peer of a connection knows the group's secret, without revealing the secret.

    proof    32 bytes, an HMAC-SHA256 by the secret of everything that both ends have said

A group has one secret, or two while the secret is being changed: proofs are made with the first
one, and a proof by either one is accepted. If the secret is changed in the steps old, old and new,
new and old, new, with one process restarted after the other in each step, no two processes ever
fail to accept each other.
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
    """The secrets by which the members of a group recognise each other. Each process has one
    object; its owner replaces the content when the secret changes."""

    __slots__ = ("_secrets",)

    def __init__(self, *secrets: bytes) -> None:
        self._secrets: tuple[bytes, ...] = secrets
        self.replace(secrets)

    def replace(self, secrets: Sequence[bytes]) -> None:
        """Replace the secrets; the first of these makes new proofs. Links that are already proven
        stay."""
        assert 1 <= len(secrets) <= SECRETS_MAX
        self._secrets = tuple(secrets)

    def prove(self, said: bytes) -> bytes:
        """This process's proof for a statement."""
        return _proof(self._secrets[0], said)

    def must_have_made(self, proof: bytes, said: bytes, peer: str) -> None:
        """Raises RemoteError unless the peer, which sent this proof, knows one of the secrets."""
        if not any(hmac.compare_digest(_proof(each, said), proof) for each in self._secrets):
            raise RemoteError(
                f"{peer} does not know the group's secret: give all brokers of the group the same"
                " groupSecretFile, and while it is changed both the old and the new secret"
            )


def statement(*parts: bytes) -> bytes:
    """The bytes for which a proof is made. Each part is preceded by its length, so that two
    different lists of parts never give the same bytes."""
    return b"".join(len(each).to_bytes(4, "big") + each for each in parts)


def _proof(secret: bytes, said: bytes) -> bytes:
    return hmac.digest(secret, said, "sha256")
