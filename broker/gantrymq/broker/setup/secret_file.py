"""Reads the file with the secret of a group (base/group_secret.py), again each time it changes.

A secret has 16 to 4096 bytes, and no line break.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.base.group_secret import fingerprint, secret_lines
from gantrymq.ha.protocol.proofs import SECRETS_MAX, GroupSecret
from gantrymq.runtime.security.certificates import stamp_of

SECRET_BYTES_MIN: Final = 16
SECRET_BYTES_MAX: Final = 4096

_CREATE: Final = "create one with openssl rand -hex 32"


@final
class SecretFile:
    """Owns the process's `GroupSecret`. Raises ConfigurationError if the file cannot be used at the
    start; later such a file is logged, and the secret stays as it was."""

    __slots__ = ("_path", "_stamp", "complain", "fingerprints", "secret")

    def __init__(self, path: str) -> None:
        self.complain: Callable[[str], None] = lambda text: None
        """Is called if a changed file cannot be used, with the reason."""
        self._path = path
        self._stamp = stamp_of(path)
        found = _read(path)
        self.fingerprints = tuple(map(fingerprint, found))
        """The fingerprints of the secrets in use; the first is that of the secret that makes
        proofs."""
        self.secret = GroupSecret(*found)

    def refresh(self) -> None:
        """Read the file if it has changed; called before each proof."""
        stamp = stamp_of(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            found = _read(self._path)
        except ConfigurationError as error:
            self.complain(f"the group's secret is unchanged: groupSecretFile: {error}")
            return
        self.secret.replace(found)
        self.fingerprints = tuple(map(fingerprint, found))

    def report(self) -> bytes:
        """The fingerprints of the secrets in use after `refresh`, one a line."""
        self.refresh()
        return "".join(f"{each}\n" for each in self.fingerprints).encode()


def _read(path: str) -> tuple[bytes, ...]:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the file cannot be read: {error.strerror}") from error
    secrets = secret_lines(content)
    if not 1 <= len(secrets) <= SECRETS_MAX:
        raise ConfigurationError(
            f"the file has {len(secrets)} lines, each of which is a secret: write one, or two while"
            f" the secret is changed; {_CREATE}"
        )
    for secret in secrets:
        if not SECRET_BYTES_MIN <= len(secret) <= SECRET_BYTES_MAX:
            raise ConfigurationError(
                f"the secret in the file has {len(secret)} bytes, and must have"
                f" {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX}: {_CREATE}"
            )
    return secrets
