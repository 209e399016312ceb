"""Encrypts passwords in the file of users with a key that is kept elsewhere.

RocketMQ's signature is an HMAC with the password, so a server has to know passwords and cannot
store hashes. Encryption protects a file that leaks without its key. AES-SIV (RFC 5297) needs no
random numbers and gives the same text for the same password of the same user, so members with the
same key can compare their tables. The user's name is authenticated too: a password cannot be moved
to another user.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final, final

from gantrymq.base.errors import ConfigurationError, RemoteError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

# A key of AES-256-SIV is twice as long; fewer random bytes are too easy to guess.
KEY_BYTES_MIN: Final = 32

_PURPOSE: Final = b"gantry users.json 1\0"


@final
class PasswordSeal:
    """Encrypts passwords with one key. Owned by the broker whose file of users it protects."""

    __slots__ = ("_cipher",)

    def __init__(self, key: bytes) -> None:
        """ConfigurationError if the key is too short."""
        if len(key) < KEY_BYTES_MIN:
            raise ConfigurationError(
                f"it has {len(key)} bytes, and a key needs {KEY_BYTES_MIN}: make one with"
                " openssl rand -base64 48"
            )
        self._cipher = _cipher_of(hashlib.sha512(_PURPOSE + key).digest())

    def close(self, secret: str, owner: str) -> str:
        return b64encode(self._cipher.encrypt(secret.encode(), [owner.encode()])).decode()

    def open(self, sealed: str, owner: str) -> str:
        """Decrypt a password; RemoteError if the key differs, or the text was changed or moved."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as in _cipher_of

        try:
            return self._cipher.decrypt(b64decode(sealed, validate=True), [owner.encode()]).decode()
        except (InvalidTag, ValueError):
            raise RemoteError(
                f"the password of {owner} cannot be decrypted: authKeyFile is not the key that the"
                " table was written with, or the file was changed by hand"
            ) from None


def _cipher_of(key: bytes) -> AESSIV:
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - few need it
        AESSIV,
    )

    return AESSIV(key)
