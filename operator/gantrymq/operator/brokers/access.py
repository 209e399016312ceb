"""How the operator speaks to the servers of one cluster: by which account, and whom it believes."""

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
    """The administrator of a secure cluster, and the authority of its servers."""

    credentials: Credentials = field(repr=False)
    authority: str = field(repr=False)
    """In PEM."""


@final
class AccessFiles:
    """The files with authorities that the client library reads; the process owns one folder."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def keywords(self, access: BrokerAccess | None) -> ClientKeywords:
        """What a client is made with; nothing for an open cluster."""
        if access is None:
            return ClientKeywords()
        return ClientKeywords(
            access_key=access.credentials.access_key,
            secret_key=access.credentials.secret_key,
            tls=ClientTls.trusting(self._file(access.authority)),
        )

    def _file(self, authority: str) -> Path:
        """Named by its content, so that another authority is another file."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="gantry-operator-"))
        content = authority.encode()
        path = self._folder / f"{sha256(content).hexdigest()[:_NAME_DIGITS]}.pem"
        if not path.exists():
            path.write_bytes(content)
        return path


FILES: Final = AccessFiles()
"""Those of this process."""
