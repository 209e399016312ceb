"""Authenticates a master and a slave with fixed roles to each other before the log is sent.

    slave                                    master
    hello     group, broker, nonce      ->
                                        <-   challenge   group, broker, nonce, proof
    proof     32 bytes                  ->
                                        <-   welcome     {}

The frames are those of member_frames.py. After the welcome both ends continue with RocketMQ's
protocol (frames.py), and the slave sends first.

A proof (proofs.py) covers the side that makes it, the group, both brokers, both nonces, and the TLS
channel binding: it cannot be used on another connection, as the other side's proof, or between
members of a group that elects its master.

Invariant: nothing that a peer says is used before its proof, and at most one letter of 4 KiB is
buffered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.bounds import LONG_MAX
from gantrymq.base.errors import RemoteError
from gantrymq.ha.protocol.handshake import hexadecimal, nonce_of
from gantrymq.ha.protocol.member_frames import OPENING, HandshakeFrame, Kind, MemberReader, encode
from gantrymq.ha.protocol.proofs import GroupSecret, statement
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import JsonObject, long_field, object_of, required_text_field

MASTER_ID: Final = 0

_SLAVE: Final = b"slave of fixed roles"
_MASTER: Final = b"master of fixed roles"


@final
@dataclass(frozen=True, slots=True)
class Broker:
    """One end of the connection, and what it proves itself by."""

    group: str
    broker_id: int
    secret: GroupSecret
    nonce: bytes
    """Bytes that were never used before."""
    channel: bytes = b""
    """The TLS channel binding, the same at both ends; empty without TLS."""


@final
class SlaveHandshake:
    """The slave's side of one connection: received bytes go in, bytes to send come out."""

    __slots__ = ("_me", "_reader", "is_answered", "is_done")

    def __init__(self, me: Broker) -> None:
        self.is_answered = False
        """Whether the master supports this handshake."""
        self.is_done = False
        """Whether the master has proved itself and accepts this slave."""
        self._me = me
        self._reader = MemberReader(Kind.CHALLENGE)

    def begin(self) -> bytes:
        """The first bytes to send."""
        return OPENING + _handshake_frame(Kind.HELLO, _introduction_fields(self._me))

    def receive(self, data: bytes) -> bytes:
        """The bytes to send in response. Raises RemoteError."""
        fields = b"".join(map(self._take, _handshake_frames(self._reader, data)))
        _check_no_failure(self._reader)
        return fields

    def _take(self, frame: HandshakeFrame) -> bytes:
        self.is_answered = True
        if frame.kind is Kind.WELCOME:
            self._reader.expect()
            self.is_done = True
            return b""
        fields, me = _read(frame), self._me
        master, nonce = _parse_introduction(fields, me.group)
        if master != MASTER_ID:
            raise RemoteError(f"the peer has brokerId {master}, and a master has {MASTER_ID}")
        nonces = me.nonce + nonce
        proof = bytes.fromhex(hexadecimal(fields, "proof"))
        proven = _statement(_MASTER, me, me.broker_id, nonces)
        me.secret.must_have_made(proof, proven, "the master")
        self._reader.expect(Kind.WELCOME)
        answer = me.secret.prove(_statement(_SLAVE, me, me.broker_id, nonces))
        return encode(HandshakeFrame(Kind.PROOF, answer))


@final
class MasterHandshake:
    """The master's side of one connection: received bytes go in, bytes to send come out."""

    __slots__ = ("_me", "_nonces", "_reader", "_slave", "is_done")

    def __init__(self, me: Broker) -> None:
        self.is_done = False
        """Whether the slave has proved itself."""
        self._me = me
        self._nonces = b""
        self._reader = MemberReader(Kind.HELLO)
        self._slave = -1

    def receive(self, data: bytes) -> bytes:
        """The bytes to send in response. Raises RemoteError."""
        fields = b"".join(map(self._take, _handshake_frames(self._reader, data)))
        _check_no_failure(self._reader)
        return fields

    def _take(self, frame: HandshakeFrame) -> bytes:
        me = self._me
        if frame.kind is Kind.PROOF:
            proven = _statement(_SLAVE, me, self._slave, self._nonces)
            me.secret.must_have_made(frame.body, proven, f"the slave, broker {self._slave},")
            self._reader.expect()
            self.is_done = True
            return _handshake_frame(Kind.WELCOME, {})
        self._slave, nonce = _parse_introduction(_read(frame), me.group)
        if self._slave == MASTER_ID:
            raise RemoteError(
                f"the peer has brokerId {MASTER_ID}, which is the id of a master, not of a slave"
            )
        self._nonces = nonce + me.nonce
        self._reader.expect(Kind.PROOF)
        proof = me.secret.prove(_statement(_MASTER, me, self._slave, self._nonces))
        introduction = _introduction_fields(me) | {"proof": proof.hex()}
        return OPENING + _handshake_frame(Kind.CHALLENGE, introduction)


def _statement(side: bytes, me: Broker, slave: int, nonces: bytes) -> bytes:
    """The bytes for which this side makes its proof."""
    group = me.group.encode(errors="surrogatepass")
    return statement(side, group, str(slave).encode(), nonces, me.channel)


# ---------------------------------------------------------------------- letters


def _handshake_frames(reader: MemberReader, data: bytes) -> list[HandshakeFrame]:
    """The received letters. At most one is expected at a time, and the next one only after an
    answer."""
    frames = []
    for frame in reader.decode(data):
        assert isinstance(frame, HandshakeFrame), "the reader expects nothing else"
        frames.append(frame)
        reader.expect()
    return frames


def _check_no_failure(reader: MemberReader) -> None:
    if reader.failure:
        raise RemoteError(reader.failure)


def _handshake_frame(kind: Kind, fields: JsonObject) -> bytes:
    return encode(HandshakeFrame(kind, javajson.dumps_standard(fields)))


def _read(frame: HandshakeFrame) -> JsonObject:
    return object_of(javajson.loads(frame.body), f"a {frame.kind.name.lower()}")


def _introduction_fields(me: Broker) -> JsonObject:
    return {"group": _shown(me.group), "broker": me.broker_id, "nonce": me.nonce.hex()}


def _parse_introduction(fields: JsonObject, group: str) -> tuple[int, bytes]:
    """The broker's id and its nonce. Raises RemoteError unless it is of the same group."""
    theirs = required_text_field(fields, "group")
    if theirs != _shown(group):
        raise RemoteError(f"the peer belongs to {theirs!r}, and this broker to {_shown(group)!r}")
    broker_id = long_field(fields, "broker", -1)
    if not MASTER_ID <= broker_id <= LONG_MAX:
        raise RemoteError(f"the peer has the invalid brokerId {broker_id}")
    return broker_id, nonce_of(fields)


def _shown(group: str) -> str:
    """The group name that is sent. It shows a member of an elected group, and this broker, if they
    have connected to the wrong kind of peer."""
    return f"{group} with fixed roles"
