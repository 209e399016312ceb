"""Encrypts passwords in the file of users with a key that is kept elsewhere.

RocketMQ's signature is an HMAC with the password, so a server has to know passwords: a hash of them
is no use. What can be had is that the file alone tells nothing: AES-SIV (RFC 5297), which needs no
random numbers and makes the same text of the same password of the same user, so that members with
the same key can compare their tables. The user's name is bound to it: a password cannot be moved to
another user.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final, final

from gantrymq.base.errors import ConfigurationError, RemoteError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

# A key of AES-256-SIV has twice as many; fewer random bytes are too easy to guess.
KEY_BYTES_MIN: Final = 32

_PURPOSE: Final = b"gantry users.json 1\0"


@final
class PasswordSeal:
    """Owned by the broker whose file of users it seals."""

    __slots__ = ("_cipher",)

    def __init__(self, key: bytes) -> None:
        """ConfigurationError where the key is too short."""
        if len(key) < KEY_BYTES_MIN:
            raise ConfigurationError(
                f"it has {len(key)} bytes, and a key needs {KEY_BYTES_MIN}: make one with"
                " openssl rand -base64 48"
            )
        self._cipher = _cipher_of(hashlib.sha512(_PURPOSE + key).digest())

    def close(self, secret: str, owner: str) -> str:
        return b64encode(self._cipher.encrypt(secret.encode(), [owner.encode()])).decode()

    def open(self, sealed: str, owner: str) -> str:
        """RemoteError where another key closed it, or it was changed or moved."""
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
