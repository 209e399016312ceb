"""Makes and checks Gantry's signature, which covers the request code and is valid only once.

    GantrySignature   <head>:<Base64(HMAC-SHA256(secret, content))>
    head              gantry-full-signature-1:<ms since 1970>:<signer>:<number>
    content           head, code, name and value of each other ext field but Signature in the
                      order of names, the body; each part after its length in 8 bytes

RocketMQ's signature covers the concatenated values of fields, and the body. So an attacker that
sees a request can send it again, with another code, or with the values split at other places. This
signature covers every part separately. A signer is one program; it numbers its requests, and a
server refuses a number that it has seen, and a time too far from its own.

A client signs both ways; a Java server checks RocketMQ's signature, which covers this field's value
like all others. Invariant: a request that was signed both ways is never valid by RocketMQ's
signature alone, however its values are split: `signature.is_signed` refuses content that contains
the start of this field's value.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, final

from gantrymq.acl.signature.signature import (
    ACCESS_KEY,
    FULL_MARK,
    FULL_SIGNATURE,
    SECURITY_TOKEN,
    SIGNATURE,
    Credentials,
    signature,
)
from gantrymq.wire.command import Command

# Clocks of a cluster differ by less; older requests are refused even if never seen.
APART_MS_MAX: Final = 15 * 60_000

# Requests of one program on several connections may overtake each other by this many numbers.
WINDOW: Final = 4096

# How many signers are remembered, of all accounts and of one; each takes some 700 bytes.
SIGNERS_MAX: Final = 16_384
ACCOUNT_SIGNERS_MAX: Final = 4_096

SIGNER_CHARACTERS: Final = 16
_PARTS: Final = 5
_NUMBER_DIGITS_MAX: Final = 15
_LENGTH_BYTES: Final = 8
_UNSIGNED: Final = frozenset({SIGNATURE, FULL_SIGNATURE})


def is_present(command: Command) -> bool:
    return FULL_SIGNATURE in (command.ext or {})


def is_signed(command: Command, secret: str) -> bool:
    """Whether the request's signature was made with this secret; compares in constant time."""
    ext = command.ext or {}
    given = ext.get(FULL_SIGNATURE, "")
    head, _, digest = given.rpartition(":")
    expected = _digest(command.code, ext, command.body, secret, head)
    return hmac.compare_digest(expected.encode(), digest.encode("utf-8", "replace"))


@final
class Signer:
    """Signs the requests of one program, both ways. Owned by the component that sends them."""

    __slots__ = ("_count", "_id", "credentials")

    def __init__(self, credentials: Credentials, signer: str) -> None:
        """`signer` is SIGNER_CHARACTERS hexadecimal digits that are unique to this program."""
        assert len(signer) == SIGNER_CHARACTERS, "a signer has 16 digits"
        self.credentials: Credentials = credentials
        self._id: str = signer
        self._count: int = 0

    def signed(self, command: Command, wall_ms: int) -> Command:
        """The same request with both signatures."""
        credentials = self.credentials
        ext = {**(command.ext or {}), ACCESS_KEY: credentials.access_key}
        if credentials.security_token:
            ext[SECURITY_TOKEN] = credentials.security_token
        self._count += 1
        head = f"{FULL_MARK}:{wall_ms}:{self._id}:{self._count}"
        secret = credentials.secret_key
        ext[FULL_SIGNATURE] = f"{head}:{_digest(command.code, ext, command.body, secret, head)}"
        ext[SIGNATURE] = signature(ext, command.body, secret)
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


def _digest(code: int, ext: Mapping[str, str], body: bytes, secret: str, head: str) -> str:
    parts = [head.encode("utf-8", "replace"), str(code).encode()]
    for name in sorted(ext):
        if name not in _UNSIGNED:
            parts.append(name.encode("utf-8", "replace"))
            parts.append(ext[name].encode("utf-8", "replace"))
    parts.append(body)
    content = b"".join([len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts])
    return b64encode(hmac.digest(secret.encode("utf-8", "replace"), content, "sha256")).decode()


@final
class _Seen:
    """The request numbers seen from one signer."""

    __slots__ = ("bits", "highest", "last_ms")

    def __init__(self) -> None:
        self.highest: int = 0
        self.bits: int = 0
        """Bit n says whether highest - n was seen."""
        self.last_ms: int = 0


@final
class _Signers:
    """The signers of one account, least recent first."""

    __slots__ = ("floor_ms", "seen")

    def __init__(self) -> None:
        self.seen: OrderedDict[str, _Seen] = OrderedDict()
        self.floor_ms: int = 0
        """A signer missing from `seen` may have been dropped if its time is not later than this."""

    def drop_oldest(self) -> None:
        _, oldest = self.seen.popitem(last=False)
        self.floor_ms = max(self.floor_ms, oldest.last_ms)


@final
class ReplayTable:
    """Remembers which requests were seen. Owned by one guard.

    Only requests with a valid signature are entered, so a peer without a key cannot fill the table.
    An account that invents signers only displaces its own: each account has a bound and a floor of
    its own, and if the whole table is full, the account with the most signers makes room.
    """

    __slots__ = ("_accounts", "_count")

    def __init__(self) -> None:
        self._accounts: dict[str, _Signers] = {}
        self._count: int = 0
        """The number of signers of all accounts."""

    def fault(self, command: Command, wall_ms: int) -> str | None:
        """Why a request with a valid signature is refused; None if not, and then it is recorded."""
        ext = command.ext or {}
        stamp = _stamp(ext.get(FULL_SIGNATURE, ""))
        if stamp is None:
            return f"GantrySignature is not {FULL_MARK}:time:signer:number:digest"
        signed_ms, signer, number = stamp
        apart_ms = signed_ms - wall_ms
        if abs(apart_ms) > APART_MS_MAX:
            return (
                f"the request was signed {abs(apart_ms) // 1000} s"
                f" {'after' if apart_ms > 0 else 'before'} this server's time, and"
                f" {APART_MS_MAX // 1000} s are allowed: set the clocks of both by NTP"
            )
        seen = self._seen_of(ext.get(ACCESS_KEY, ""), signer, signed_ms)
        if seen is None:
            return "the request may have been seen before: too many programs sign; sign it again"
        if not _enter(seen, number):
            return "the request was seen before; a client that repeats one has to sign it again"
        seen.last_ms = max(seen.last_ms, signed_ms)
        return None

    def _seen_of(self, account: str, signer: str, signed_ms: int) -> _Seen | None:
        signers = self._accounts.get(account)
        if signers is None:
            signers = self._accounts[account] = _Signers()
        seen = signers.seen.get(signer)
        if seen is not None:
            signers.seen.move_to_end(signer)
            return seen
        if signed_ms <= signers.floor_ms:
            return None
        self._make_room(signers)
        seen = signers.seen[signer] = _Seen()
        self._count += 1
        return seen

    def _make_room(self, signers: _Signers) -> None:
        if len(signers.seen) >= ACCOUNT_SIGNERS_MAX:
            signers.drop_oldest()
        elif self._count >= SIGNERS_MAX:
            max(self._accounts.values(), key=_count_of).drop_oldest()
        else:
            return
        self._count -= 1


def _count_of(signers: _Signers) -> int:
    return len(signers.seen)


def _enter(seen: _Seen, number: int) -> bool:
    """Record the number; returns whether it was new."""
    behind = seen.highest - number
    if behind < 0:
        shift = -behind
        seen.bits = (seen.bits << shift | 1) & ((1 << WINDOW) - 1) if shift < WINDOW else 1
        seen.highest = number
        return True
    if behind >= WINDOW or seen.bits >> behind & 1:
        return False
    seen.bits |= 1 << behind
    return True


def _stamp(text: str) -> tuple[int, str, int] | None:
    """Time, signer and number; None if the text is malformed."""
    parts = text.split(":")
    if len(parts) != _PARTS or parts[0] != FULL_MARK or len(parts[2]) != SIGNER_CHARACTERS:
        return None
    numbers = (parts[1], parts[3])
    if not all(n.isascii() and n.isdecimal() and len(n) <= _NUMBER_DIGITS_MAX for n in numbers):
        return None
    return int(parts[1]), parts[2], int(parts[3])
