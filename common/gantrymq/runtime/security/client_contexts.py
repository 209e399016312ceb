"""Provides the TLS context for outgoing connections, and hints for errors while connecting.

Changed files are read before the next connection, as a server's are (certificates.py). If they
cannot be used, the context stays as it is.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Final, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.certificates import ClientTls, Stamp, client_context, stamp_of

# The hint for connections without TLS.
PLAIN_HINT: Final = "the connection has no TLS: if the server requires TLS, set useTLS=true"


@final
class ClientContexts:
    """The TLS context of one program's outgoing connections.

    Raises ConfigurationError if the files cannot be used at the start.
    """

    __slots__ = ("_complain", "_context", "_stamps", "settings")

    def __init__(
        self, settings: ClientTls, complain: Callable[[str], None] = lambda text: None
    ) -> None:
        """`complain` receives the reason if changed files cannot be used."""
        self.settings = settings
        self._complain = complain
        self._stamps = self._look()
        self._context = client_context(settings)

    @classmethod
    def of(
        cls, settings: ClientTls | None, complain: Callable[[str], None]
    ) -> ClientContexts | None:
        """The contexts for these settings; None for plain connections."""
        return None if settings is None else cls(settings, complain)

    def context(self) -> ssl.SSLContext:
        """The current context; reads changed files first."""
        if self._stamps != (stamps := self._look()):
            self._stamps = stamps
            try:
                self._context = client_context(self.settings)
            except ConfigurationError as error:
                self._complain(f"the previous TLS files stay in use: {error}")
        return self._context

    @property
    def hint(self) -> str:
        """What to check if connecting to a peer fails."""
        settings = self.settings
        path, shown = settings.trust_cert_path, settings.shown
        if not settings.checks_server:
            trust = "any certificate is accepted"
        elif path:
            trust = f"its certificate must be signed by one in tls.client.trustCertPath={path}"
        else:
            trust = "its certificate must be signed by an authority that this system trusts"
        own = f"tls.client.certPath={shown}" if shown else "none (tls.client.certPath is not set)"
        return (
            f"the connection is made by TLS: {trust}; the certificate shown to it is {own}; if the"
            " server does not use TLS, set useTLS=false"
        )

    def _look(self) -> tuple[Stamp, ...]:
        settings = self.settings
        if settings.test_mode:
            return ()
        identity = settings.identity
        paths = (identity.cert_path, identity.key_path, settings.trust_cert_path)
        return tuple(stamp_of(path) for path in paths if path)
