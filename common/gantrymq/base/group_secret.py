"""The lines of a group's secret file, and the fingerprints by which they are compared.

    one line     the secret
    two lines    while the secret is changed: the first one makes proofs, both are believed

    fingerprint  16 hexadecimal digits, an HMAC-SHA256 by the secret of fixed words

Brokers report fingerprints and the operator compares them with those of its Secret, so neither
shows a secret. A fingerprint tells no more than a proof does, which the master gives to every peer
that connects: both let a short secret be guessed, and neither one of 32 random bytes.
"""

from __future__ import annotations

import hmac
from typing import Final

SECRETS_PATH: Final = "/replication-secrets"
"""Where a broker reports the fingerprints of its secrets, one a line, at its metrics port."""
FINGERPRINT_DIGITS: Final = 16

_SAID: Final = b"gantry group secret fingerprint"


def secret_lines(content: bytes) -> tuple[bytes, ...]:
    """The secrets in a file; blanks around them and empty lines do not count."""
    return tuple(line for each in content.splitlines() if (line := each.strip()))


def fingerprint(secret: bytes) -> str:
    """What stands for a secret where the secret itself must not be shown."""
    return hmac.digest(secret, _SAID, "sha256").hex()[:FINGERPRINT_DIGITS]
