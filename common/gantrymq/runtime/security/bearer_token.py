"""Reads the file with the bearer token that clients need to read metrics.

The file has one line, or two while the token is being replaced: both are accepted. The file is
checked before each response, and read again if it has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path
from typing import Final, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.certificates import Stamp, stamp_of

TOKEN_BYTES_MIN: Final = 16
# An HTTP header has room for 8190 bytes.
TOKEN_BYTES_MAX: Final = 4096
TOKENS_MAX: Final = 2

_SCHEME: Final = b"bearer "
_MAKES_ONE: Final = "`openssl rand -hex 32` makes one"


@final
class BearerTokenFile:
    """The metricsTokenFile of one server, owned by its HTTP server.

    Raises ConfigurationError if the file cannot be used at the start. If it cannot be used later,
    that is logged and the previous tokens stay valid.
    """

    __slots__ = ("_complain", "_path", "_stamp", "_tokens")

    def __init__(self, path: str, complain: Callable[[str], None] = lambda text: None) -> None:
        """`complain` receives the reason if a changed file cannot be used."""
        self._complain = complain
        self._path = path
        self._stamp: Stamp = stamp_of(path)
        self._tokens = _read(path)

    def allows(self, authorization: str | None) -> bool:
        """Whether a request with this Authorization header may read metrics."""
        self._refresh()
        said = (authorization or "").encode("utf-8", "surrogateescape")
        if said[: len(_SCHEME)].lower() != _SCHEME:
            return False
        token = said[len(_SCHEME) :].strip()
        return any(compare_digest(token, each) for each in self._tokens)

    def _refresh(self) -> None:
        stamp = stamp_of(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._tokens = _read(self._path)
        except ConfigurationError as error:
            self._complain(f"the token for metrics stays as it was: {error}")


def token_file(
    path: str, complain: Callable[[str], None] = lambda text: None
) -> BearerTokenFile | None:
    """The token file at `path`; None if `path` is empty."""
    return BearerTokenFile(path, complain) if path else None


def _read(path: str) -> tuple[bytes, ...]:
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"metricsTokenFile={path} cannot be read: {cause}") from error
    tokens = tuple(line.strip() for line in content.splitlines() if line.strip())
    if not 1 <= len(tokens) <= TOKENS_MAX:
        raise ConfigurationError(
            f"metricsTokenFile={path} has {len(tokens)} lines, each of which is a token: write one,"
            f" or two while the token is changed; {_MAKES_ONE}"
        )
    for token in tokens:
        if not TOKEN_BYTES_MIN <= len(token) <= TOKEN_BYTES_MAX:
            raise ConfigurationError(
                f"metricsTokenFile={path}: a token in it has {len(token)} bytes, and needs"
                f" {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX}; {_MAKES_ONE}"
            )
    return tokens
