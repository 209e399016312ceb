"""Holds the operator's credentials for a secure cluster, and the authority of its servers."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, final

from gantrymq.acl.signature.signature import Credentials
from gantrymq.client.aio.machinery.configuration import ClientKeywords
from gantrymq.runtime.security.certificates import ClientTls

_NAME_DIGITS: Final = 32


@final
@dataclass(frozen=True, slots=True)
class BrokerAccess:
    """The administrator account of a secure cluster, and the authority of its certificates."""

    credentials: Credentials = field(repr=False)
    authority: str = field(repr=False)
    """The certificate of the authority, in PEM."""


@final
class AccessFiles:
    """Writes authorities to files, because the client library reads them from files. The files are
    in one temporary folder of the process."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def keywords(self, access: BrokerAccess | None) -> ClientKeywords:
        """Return the keywords to create a client with; none for an open cluster."""
        if access is None:
            return ClientKeywords()
        return ClientKeywords(
            access_key=access.credentials.access_key,
            secret_key=access.credentials.secret_key,
            tls=ClientTls.trusting(self._file(access.authority)),
        )

    def _file(self, authority: str) -> Path:
        """Return the file of an authority. The name depends on the content."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="gantry-operator-"))
        content = authority.encode()
        path = self._folder / f"{sha256(content).hexdigest()[:_NAME_DIGITS]}.pem"
        if not path.exists():
            path.write_bytes(content)
        return path


FILES: Final = AccessFiles()
"""The authority files of this process."""
