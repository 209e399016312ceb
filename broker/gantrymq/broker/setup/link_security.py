"""Provides proofs and TLS for the replication links of one broker.

The files of certificates and of the secret are checked before each new link and read again if they
changed; existing links keep what they have.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final, final

from gantrymq.broker.core.settings import HaTls
from gantrymq.broker.setup.link_setup import LinkSetup
from gantrymq.ha.classic.slave_admission import AdmissionSettings, SlaveAdmission
from gantrymq.ha.classic.slave_handshake import Broker, SlaveHandshake
from gantrymq.ha.protocol.channel_proof import ChannelProof
from gantrymq.ha.protocol.handshake import NONCE_BYTES
from gantrymq.remoting.events import Reason
from gantrymq.runtime.security.certificates import ServerContexts, TlsMode
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.runtime.security.tls import TlsTransport, TlsTransportError

_HINTS: Final = {
    Reason.TLS_REQUIRED: (
        "the peer connects without TLS, and haTls=required here: set haTls=used at the other"
        " broker, or haTls=used here while some brokers do not use TLS yet"
    ),
    Reason.TLS_DISABLED: (
        "the peer connects by TLS, and tls.server.mode=disabled here accepts no TLS"
    ),
}


@final
class LinkSecurity:
    """The proofs and TLS of one broker's links; `group` contains the names of cluster and
    broker."""

    def __init__(
        self,
        setup: LinkSetup,
        contexts: ServerContexts,
        group: str,
        broker_id: int,
        complain: Callable[[str], None],
    ) -> None:
        """`contexts` are those of the broker's other ports; `complain` is called for changed files
        that cannot be used."""
        self.contexts = contexts
        self._broker_id = broker_id
        self._client = ClientContexts.of(setup.client_tls, complain)
        self._group = group
        self._setup = setup
        if setup.secret_file is not None:
            setup.secret_file.complain = complain
        server_mode = contexts.settings.mode
        if setup.tls is HaTls.REQUIRED or server_mode is TlsMode.DISABLED:
            self._mode = TlsMode.ENFORCING if setup.tls is HaTls.REQUIRED else TlsMode.DISABLED
        else:
            self._mode = TlsMode.PERMISSIVE

    def refresh(self) -> None:
        """Read the secret again if its file has changed; called when a link begins."""
        if self._setup.secret_file is not None:
            self._setup.secret_file.refresh()

    # ------------------------------------------------------------------ TLS

    def incoming(self) -> TlsTransport:
        """The TLS transport of an incoming connection."""
        return TlsTransport(self._mode, self.contexts.context)

    def outgoing(self) -> TlsTransport | None:
        """The TLS transport of an outgoing connection; None without TLS."""
        return None if self._client is None else TlsTransport.of_client(self._client.context())

    def explain(self, error: TlsTransportError) -> str:
        """Why a connection was closed, and the remedy."""
        return _HINTS.get(error.reason, error.detail)

    def channel_proof(self, channel: bytes, *, was_dialed: bool) -> ChannelProof | None:
        """The proof of a TLS connection between members; None for brokers without a secret."""
        file = self._setup.secret_file
        if file is None:
            return None
        return ChannelProof(self._group, file.secret, channel, was_dialed=was_dialed)

    # ------------------------------------------------------------------ proofs with fixed roles

    def admission(self, silence_seconds: float, now: float) -> SlaveAdmission:
        """The admission of a connection that may be a slave's."""
        setup = self._setup
        secret = None if setup.secret_file is None else setup.secret_file.secret
        settings = AdmissionSettings(self._group, secret, setup.takes_unproven, silence_seconds)
        return SlaveAdmission(settings, secrets.token_bytes(NONCE_BYTES), now)

    def slave_handshake(self, channel: bytes) -> SlaveHandshake | None:
        """The handshake for a connection to the master; None if this slave has no secret. `channel`
        is the TLS channel binding."""
        file = self._setup.secret_file
        if file is None:
            return None
        nonce = secrets.token_bytes(NONCE_BYTES)
        return SlaveHandshake(Broker(self._group, self._broker_id, file.secret, nonce, channel))
