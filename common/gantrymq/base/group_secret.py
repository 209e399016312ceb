"""Reads the lines of a group's secret file, and makes fingerprints to compare them.

    one line     the secret
    two lines    while the secret is replaced: the first makes proofs, both are accepted
    fingerprint  16 hexadecimal digits: an HMAC-SHA256 of fixed words, with the secret as key

Brokers report fingerprints and the operator compares them with those of its Secret, so neither
shows a secret. A fingerprint reveals no more than a proof, which the master gives to every peer
that connects: from both a short secret can be guessed, but not one of 32 random bytes.
"""

from __future__ import annotations

import hmac
from typing import Final

SECRETS_PATH: Final = "/replication-secrets"
"""The path at a broker's metrics port where it reports its fingerprints, one a line."""
FINGERPRINT_DIGITS: Final = 16

_SAID: Final = b"gantry group secret fingerprint"


def secret_lines(content: bytes) -> tuple[bytes, ...]:
    """The secrets in a file, without surrounding blanks and empty lines."""
    return tuple(line for each in content.splitlines() if (line := each.strip()))


def fingerprint(secret: bytes) -> str:
    """The fingerprint of a secret, to be shown in its place."""
    return hmac.digest(secret, _SAID, "sha256").hex()[:FINGERPRINT_DIGITS]
