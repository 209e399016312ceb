"""Decides whether a connection to a master with a fixed role may receive the log as a slave.

    first bytes                      with the group's secret    without
    the opening of a handshake       the slave proves itself    refused
    a position, as Java's slaves     refused, unless unproven slaves are accepted

Before admission a connection is sent only the letters of the handshake, and nothing that it sends
is an acknowledgement. It has `PROOF_SECONDS` for its proof. If unproven slaves are accepted it has
longer: a Java slave sends nothing for up to its haSendHeartbeatInterval (5 s). If they are not, the
connection is closed before such a slave speaks, so the hint is also logged for a silent peer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.ha.classic.slave_handshake import MASTER_ID, Broker, MasterHandshake
from gantrymq.ha.protocol.member_frames import OPENING
from gantrymq.ha.protocol.proofs import GroupSecret

# Two round trips, and a TLS handshake before them.
PROOF_SECONDS: Final = 3.0

# This many bytes distinguish a handshake from a report; a slave's first report is as long.
FIRST_BYTES: Final = len(OPENING)

UNPROVEN: Final = (
    "the peer does not prove that it knows the group's secret. Set groupSecretFile of a Gantry"
    " slave to the master's secret. A Java slave has no proof: a master accepts it only with"
    " haAllowUnauthenticatedSlaves=true at this master, which lets any peer that reaches this port"
    " read and acknowledge all messages"
)
CANNOT_CHECK: Final = (
    "the peer sends a proof of the group's secret, and this master has none: set groupSecretFile"
    " here, to the same secret"
)


@final
@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """What a master requires of connecting slaves."""

    group: str
    """The names of cluster and broker, which master and slaves share."""
    secret: GroupSecret | None = None
    takes_unproven: bool = True
    """Whether a connection without a proof may be a slave's, as in RocketMQ."""
    silence_seconds: float = 20.0
    """How long an unproven connection may be silent; haHousekeepingInterval."""


@final
class SlaveAdmission:
    """One connection until it is admitted: received bytes go in, bytes to send come out."""

    __slots__ = (
        "_ends_at",
        "_first",
        "_handshake",
        "_nonce",
        "_settings",
        "is_admitted",
        "is_proven",
    )

    def __init__(self, settings: AdmissionSettings, nonce: bytes, now: float) -> None:
        """`nonce` was never used before."""
        self.is_admitted = False
        self.is_proven = False
        seconds = settings.silence_seconds if settings.takes_unproven else PROOF_SECONDS
        self._ends_at = now + seconds
        self._first = b""
        self._handshake: MasterHandshake | None = None
        self._nonce = nonce
        self._settings = settings

    @property
    def deadline(self) -> float:
        """When the connection is closed unless it was admitted."""
        return self._ends_at

    @property
    def too_late(self) -> str:
        """Why the connection is closed at the deadline."""
        if self._settings.takes_unproven:
            return f"the peer sent nothing for {self._settings.silence_seconds:g} s"
        return f"no proof within {PROOF_SECONDS:g} s; {UNPROVEN}"

    @property
    def first(self) -> bytes:
        """The bytes that an unproven slave has already reported."""
        return self._first

    def receive(self, data: bytes, channel: bytes = b"") -> bytes:
        """The bytes to send in response. Raises RemoteError if the connection has to be closed.
        `channel` is the TLS channel binding."""
        if self._handshake is None:
            self._first += data
            if not self._is_opening:
                self._accept_unproven()
                return b""
            if len(self._first) < FIRST_BYTES:
                return b""
            data, self._first = self._first, b""
            self._handshake = self._begin(channel)
        said = self._handshake.receive(data)
        self.is_admitted = self.is_proven = self._handshake.is_done
        return said

    @property
    def _is_opening(self) -> bool:
        return OPENING.startswith(self._first[:FIRST_BYTES])

    def _accept_unproven(self) -> None:
        if not self._settings.takes_unproven:
            raise RemoteError(UNPROVEN)
        self.is_admitted = len(self._first) >= FIRST_BYTES

    def _begin(self, channel: bytes) -> MasterHandshake:
        settings = self._settings
        if settings.secret is None:
            raise RemoteError(CANNOT_CHECK)
        me = Broker(settings.group, MASTER_ID, settings.secret, self._nonce, channel)
        return MasterHandshake(me)
