"""Implements the handshake between two members: identity, proof of the secret, state of the logs.

    follower                                  master
    hello    group, member, boot, nonce   ->
                                          <-  challenge   member, boot, nonce, proof
    proof, joining    its report          ->
                                          <-  welcome     its report
                                          or  refusal     reason, text, its report

A proof is an HMAC-SHA256 of the proving side, everything that both sides said of themselves, and
both nonces: it cannot be replayed in another handshake or reflected to its sender.

Invariant: nothing that a peer says is used before its proof; until then it costs a few bytes of
answer. A member that knows of a newer epoch than its master's sends it in its report, and the
master has to step down: that is why even a refusal comes after the proofs. While there is no
master, members learn each other's reports from the refusals.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, final

from gantrymq.base.errors import RemoteError
from gantrymq.ha.disk.epochs import Epoch, Epochs, divergence
from gantrymq.ha.disk.identity import is_uuid
from gantrymq.ha.lease.lease import EPOCH_MAX, Mark
from gantrymq.ha.protocol.member_frames import OPENING, HandshakeFrame, Kind, encode
from gantrymq.ha.protocol.proofs import GroupSecret, statement
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import (
    JsonObject,
    bool_field,
    list_of,
    long_field,
    long_of,
    object_of,
    required_text_field,
    text_field,
)

NONCE_BYTES: Final = 16

# Above the highest epoch that members seek: a disk that has seen such an epoch can still copy a
# log.
HEARD_EPOCH_MAX: Final = 2 * EPOCH_MAX

_FOLLOWER: Final = "follower"
_MASTER: Final = "master"


@final
@dataclass(frozen=True, slots=True)
class Member:
    """One member of a group. `boot` differs after each start of its machine."""

    group: str
    number: int
    boot: str


@final
class MemberReport(NamedTuple):
    """What a member reports about itself: the highest epoch it has seen; the epochs, start and end
    of its log; whether it certainly has all it ever acknowledged, and from where on the log may be
    damaged; its disk, the disk's group, and the age of the Lease it has seen. It is a tuple because
    a follower creates one in each turn."""

    epoch: int
    epochs: Epochs
    start: int
    end: int
    is_electable: bool = True
    sure_to: int | None = None
    disk: str = ""
    """"" if the member's version names no disks."""
    group: str = ""
    """"" while its disk belongs to no group."""
    mark: Mark = Mark()

    @property
    def sure_end(self) -> int:
        """The end of the part of the log that is not doubtful."""
        return self.end if self.sure_to is None else self.sure_to

    @property
    def is_empty(self) -> bool:
        """Whether the log has no record."""
        return self.start == self.end


def resume_position(follower: MemberReport, master: MemberReport) -> int | None:
    """The position from which the master sends its log to the follower: the end of the follower's
    log, or the start of its doubtful part, which is compared. None if the follower has bytes that
    the master does not have, or lacks bytes that the master has deleted."""
    if follower.is_empty:
        return master.start
    parted = divergence(follower.epochs, follower.end, master.epochs, master.end)
    if parted != follower.end or parted < master.start:
        return None
    if follower.sure_to is None:
        return parted
    return max(follower.sure_to, follower.start, master.start)


class RefusedError(RemoteError):
    """The peer is not a master for this follower; `reason` is one word, for programs."""

    def __init__(self, reason: str, text: str, member_report: MemberReport) -> None:
        self.reason = reason
        self.member_report = member_report
        super().__init__(text)


@final
class OutgoingHandshake:
    """The follower's side of the handshake."""

    __slots__ = ("_master", "_me", "_member_report", "_nonce", "_secret")

    def __init__(
        self, me: Member, secret: GroupSecret, nonce: bytes, member_report: MemberReport
    ) -> None:
        self._me = me
        self._nonce = nonce
        self._secret = secret
        self._member_report = member_report
        self._master: Member | None = None

    @property
    def master(self) -> Member:
        """The master's identity; available after its proof."""
        assert self._master is not None
        return self._master

    def begin(self) -> bytes:
        """The first bytes to send."""
        return OPENING + _handshake_frame(Kind.HELLO, _introduction_fields(self._me, self._nonce))

    def take(self, frame: HandshakeFrame) -> tuple[bytes, MemberReport | None]:
        """The bytes to send, and the master's standing once it is known. Raises RemoteError."""
        fields = _read(frame)
        if frame.kind is Kind.CHALLENGE and self._master is None:
            master, nonce = _parse_introduction(fields, self._me.group)
            nonces = self._nonce + nonce
            proof = bytes.fromhex(hexadecimal(fields, "proof"))
            proven = _statement(_MASTER, self._me, master, nonces)
            self._secret.must_have_made(proof, proven, "the master")
            self._master = master
            proof = self._secret.prove(_statement(_FOLLOWER, self._me, master, nonces))
            joining = _handshake_frame(Kind.JOINING, _report_fields(self._member_report))
            return encode(HandshakeFrame(Kind.PROOF, proof)) + joining, None
        if frame.kind is Kind.WELCOME and self._master is not None:
            return b"", _member_report(fields)
        if frame.kind is Kind.REFUSAL and self._master is not None:
            text = required_text_field(fields, "text")
            raise RefusedError(required_text_field(fields, "reason"), text, _member_report(fields))
        raise _unexpected(frame)


@final
class IncomingHandshake:
    """The master's side of the handshake. Its owner decides whether the follower may follow."""

    __slots__ = ("_follower", "_is_proven", "_me", "_nonce", "_nonces", "_secret")

    def __init__(self, me: Member, secret: GroupSecret, nonce: bytes) -> None:
        self._follower: Member | None = None
        self._is_proven = False
        self._me = me
        self._nonce = nonce
        self._nonces = b""
        self._secret = secret

    @property
    def follower(self) -> Member:
        """The follower's identity; available after `take` returned its standing."""
        assert self._follower is not None
        return self._follower

    def take(self, frame: HandshakeFrame) -> tuple[bytes, MemberReport | None]:
        """The bytes to send, and the follower's standing once it is known. Raises RemoteError."""
        follower = self._follower
        if frame.kind is Kind.HELLO and follower is None:
            return self._challenge(_read(frame)), None
        if frame.kind is Kind.PROOF and follower is not None and not self._is_proven:
            proven = _statement(_FOLLOWER, follower, self._me, self._nonces)
            self._secret.must_have_made(frame.body, proven, f"member {follower.number}")
            self._is_proven = True
            return b"", None
        if frame.kind is Kind.JOINING and self._is_proven:
            return b"", _member_report(_read(frame))
        raise _unexpected(frame)

    def _challenge(self, fields: JsonObject) -> bytes:
        follower, nonce = _parse_introduction(fields, self._me.group)
        if follower.number == self._me.number:
            raise RemoteError(
                f"the peer claims to be member {follower.number}, which is this member"
            )
        self._follower = follower
        self._nonces = nonce + self._nonce
        proof = self._secret.prove(_statement(_MASTER, follower, self._me, self._nonces))
        introduction = _introduction_fields(self._me, self._nonce) | {"proof": proof.hex()}
        return OPENING + _handshake_frame(Kind.CHALLENGE, introduction)


def welcome(member_report: MemberReport) -> bytes:
    """Tells the follower that it may follow, and with which log it has to compare its own."""
    return _handshake_frame(Kind.WELCOME, _report_fields(member_report))


def refusal(reason: str, text: str, member_report: MemberReport) -> bytes:
    return _handshake_frame(
        Kind.REFUSAL, _report_fields(member_report) | {"reason": reason, "text": text}
    )


# ---------------------------------------------------------------------- proofs


def _statement(side: str, follower: Member, master: Member, nonces: bytes) -> bytes:
    """The bytes for which this side makes its proof."""
    numbers = map(str, (follower.number, master.number))
    texts = (side, follower.group, *numbers, follower.boot, master.boot)
    return statement(*(text.encode(errors="surrogatepass") for text in texts), nonces)


# ---------------------------------------------------------------------- letters


def _handshake_frame(kind: Kind, fields: JsonObject) -> bytes:
    return encode(HandshakeFrame(kind, javajson.dumps_standard(fields)))


def _read(frame: HandshakeFrame) -> JsonObject:
    return object_of(javajson.loads(frame.body), f"a {frame.kind.name.lower()}")


def _introduction_fields(member: Member, nonce: bytes) -> JsonObject:
    return {
        "group": member.group,
        "member": member.number,
        "boot": member.boot,
        "nonce": nonce.hex(),
    }


def _parse_introduction(fields: JsonObject, group: str) -> tuple[Member, bytes]:
    """The peer's identity and nonce. Raises RemoteError unless the peer is of the same group."""
    theirs = required_text_field(fields, "group")
    if theirs != group:
        raise RemoteError(f"the peer belongs to the group {theirs!r}, and this member to {group!r}")
    nonce = nonce_of(fields)
    number = long_field(fields, "member", -1)
    if number < 1:
        raise RemoteError(f"the peer claims to be member {number}, and members are counted from 1")
    return Member(theirs, number, required_text_field(fields, "boot")), nonce


def nonce_of(fields: JsonObject) -> bytes:
    """The bytes that make one introduction differ from all others."""
    nonce = bytes.fromhex(hexadecimal(fields, "nonce"))
    if len(nonce) != NONCE_BYTES:
        raise RemoteError(f"the nonce has {len(nonce)} bytes and must have {NONCE_BYTES}")
    return nonce


def hexadecimal(fields: JsonObject, name: str) -> str:
    """A field with bytes as lower-case hexadecimal digits. Raises RemoteError for any other
    text."""
    value = required_text_field(fields, name)
    if len(value) % 2 or not set(value) <= set("0123456789abcdef"):
        raise RemoteError(f"{name} is not a hexadecimal number")
    return value


def _report_fields(member_report: MemberReport) -> JsonObject:
    fields: JsonObject = {
        "epoch": member_report.epoch,
        "epochs": [[each.number, each.start] for each in member_report.epochs],
        "start": member_report.start,
        "end": member_report.end,
        "electable": member_report.is_electable,
        "disk": member_report.disk,
        "groupId": member_report.group,
        "mark": list(member_report.mark),
    }
    return fields if member_report.sure_to is None else fields | {"sureTo": member_report.sure_to}


def _member_report(fields: JsonObject) -> MemberReport:
    epochs = []
    for each in list_of(fields.get("epochs"), "epochs"):
        numbers = [long_of(number, "epochs") for number in list_of(each, "epochs")]
        if len(numbers) != 2:
            raise RemoteError("an epoch is a number and a position")
        epochs.append(Epoch(*numbers))
    for before, after in pairwise(epochs):
        if before.number >= after.number or before.start >= after.start:
            raise RemoteError(f"{after} behind {before}: numbers and positions rise")
    member_report = MemberReport(
        long_field(fields, "epoch", -1),
        tuple(epochs),
        long_field(fields, "start", -1),
        long_field(fields, "end", -1),
        bool_field(fields, "electable"),
        long_field(fields, "sureTo") if "sureTo" in fields else None,
        _identity(fields, "disk"),
        _identity(fields, "groupId"),
        _mark(fields),
    )
    if member_report.sure_to is not None and not 0 <= member_report.sure_to <= member_report.end:
        raise RemoteError(
            f"a log that ends at {member_report.end} is sure to {member_report.sure_to}"
        )
    if member_report.epoch > HEARD_EPOCH_MAX:
        raise RemoteError(
            f"epoch {member_report.epoch} is above {HEARD_EPOCH_MAX}: no group gets there"
        )
    if not (0 <= member_report.start <= member_report.end and member_report.epoch >= 0):
        raise RemoteError(f"a log from {member_report.start} to {member_report.end}: there is none")
    return member_report


def _identity(fields: JsonObject, name: str) -> str:
    """A UUID; "" if there is none, as from an older version."""
    text = text_field(fields, name) or ""
    if text and not is_uuid(text):
        raise RemoteError(f"{name} is no UUID")
    return text


def _mark(fields: JsonObject) -> Mark:
    numbers = [long_of(each, "mark") for each in list_of(fields.get("mark") or [0, 0], "mark")]
    if len(numbers) != 2 or min(numbers) < 0:
        raise RemoteError("a mark is an epoch and a renewal")
    return Mark(*numbers)


def _unexpected(frame: HandshakeFrame) -> RemoteError:
    return RemoteError(f"unexpected frame {frame.kind.name.lower()}")
