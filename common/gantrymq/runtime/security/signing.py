"""Makes request signers, each with a random name, because no two signers may share a name."""

from __future__ import annotations

import secrets

from gantrymq.acl.signature.full_signature import SIGNER_CHARACTERS, Signer
from gantrymq.acl.signature.signature import Credentials


def signer_of(credentials: Credentials | None) -> Signer | None:
    """A signer for these credentials; None without credentials."""
    if credentials is None:
        return None
    return Signer(credentials, secrets.token_hex(SIGNER_CHARACTERS // 2))
