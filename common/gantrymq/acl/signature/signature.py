"""Makes and checks RocketMQ's signatures: HMAC-SHA1 over a request with a shared key.

    content    the values of all ext fields but Signature, in the order of their names, as UTF-8;
               then the body
    Signature  Base64(HMAC-SHA1(secret key, content)), an ext field as AccessKey is

Servers of 4.9 leave `_UNIQUE_KEY_QUERY` out of the content, because their clients add it after
signing; newer clients sign it as well. Both forms are accepted.

This signature does not cover the request code, the names of fields or the ends of values, and never
expires; full_signature.py makes one that covers more.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gantrymq.wire.command import Command

ACCESS_KEY: Final = "AccessKey"
SECURITY_TOKEN: Final = "SecurityToken"  # noqa: S105 - the name of a field
SIGNATURE: Final = "Signature"
FULL_SIGNATURE: Final = "GantrySignature"
# Long, so that no message contains it by chance.
FULL_MARK: Final = "gantry-full-signature-1"
_FULL_BEGIN: Final = f"{FULL_MARK}:".encode()
_UNIQUE_KEY_QUERY: Final = "_UNIQUE_KEY_QUERY"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The account that signs, and its secrets."""

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str = field(default="", repr=False)
    """The token of temporary keys: an ext field that their issuer can verify."""


def signature(ext: Mapping[str, str], body: bytes, secret_key: str) -> str:
    """The signature of these ext fields, which include those of the signer, and this body."""
    return _digest(_content(ext, body), secret_key)


def is_signed(command: Command, secret_key: str) -> bool:
    """Whether the request's signature was made with this key; compares in constant time.

    A request that was signed both ways is not valid by this signature alone.
    """
    ext = command.ext or {}
    given = _bytes(ext.get(SIGNATURE, ""))
    content = _content(ext, command.body)
    is_good = hmac.compare_digest(_bytes(_digest(content, secret_key)), given)
    if not is_good and _UNIQUE_KEY_QUERY in ext:
        rest = {name: value for name, value in ext.items() if name != _UNIQUE_KEY_QUERY}
        content = _content(rest, command.body)
        is_good = hmac.compare_digest(_bytes(_digest(content, secret_key)), given)
    return is_good and _FULL_BEGIN not in content


def _content(ext: Mapping[str, str], body: bytes) -> bytes:
    values = "".join([ext[name] for name in sorted(ext) if name != SIGNATURE])
    return values.encode("utf-8", "replace") + body


def _digest(content: bytes, secret_key: str) -> str:
    return b64encode(hmac.digest(_bytes(secret_key), content, "sha1")).decode()


def signed(command: Command, credentials: Credentials) -> Command:
    """The same request with a signature."""
    ext = {**(command.ext or {}), ACCESS_KEY: credentials.access_key}
    if credentials.security_token:
        ext[SECURITY_TOKEN] = credentials.security_token
    ext[SIGNATURE] = signature(ext, command.body, credentials.secret_key)
    return Command(
        command.code,
        flag=command.flag,
        language=command.language,
        version=command.version,
        remark=command.remark,
        ext=ext,
        body=command.body,
        encoding=command.encoding,
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
