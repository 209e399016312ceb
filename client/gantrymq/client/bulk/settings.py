"""Settings of bulk reads and writes; a value that travels to other processes.

Keys are best given by a file or by the environment of the process that connects: a value with keys
in it is pickled with them. No key is ever part of a text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import ConfigurationError
from gantrymq.client.core.bounds import ABOVE_0, must_fit
from gantrymq.runtime.security.acl_file import read_credentials
from gantrymq.runtime.security.certificates import ClientTls

ACCESS_KEY_VARIABLE: Final = "GANTRY_ACCESS_KEY"
SECRET_KEY_VARIABLE: Final = "GANTRY_SECRET_KEY"  # noqa: S105 - the variable's name


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkSettings:
    """Which cluster, in whose name, and how patiently."""

    name_servers: tuple[str, ...]
    """host:port of each."""
    group: str
    """The consumer or producer group that brokers know this program by."""
    namespace: str = ""
    credentials_file: str = ""
    """Two lines, accessKey: and secretKey:, as RocketMQ's conf/tools.yml. It is read by the process
    that connects; without it the keys are those of the environment, GANTRY_ACCESS_KEY and
    GANTRY_SECRET_KEY, if there are any."""
    credentials: Credentials | None = field(default=None, repr=False)
    """Keys given by value, for programs that keep them elsewhere."""
    tls: ClientTls | None = None
    """None: connections are plain."""
    connect_timeout_s: float = 5.0
    answer_timeout_s: float = 30.0
    """For a server to send the next byte of an answer."""
    recover_s: float = 60.0
    """How long a broker that does not answer, or has no master, is tried again."""
    truncated_after_s: float = 10.0
    """How long a queue may end before the messages asked for, until they count as lost."""

    def __post_init__(self) -> None:
        must_fit(self, _BOUNDS)
        if not self.name_servers:
            raise ConfigurationError(
                "no name server address is set: give name_servers, host:port of each"
            )

    def signs_with(self, environment: Mapping[str, str] = os.environ) -> Credentials | None:
        """The keys to sign requests with; None for a cluster without access control."""
        if self.credentials is not None:
            return self.credentials
        if self.credentials_file:
            return read_credentials(Path(self.credentials_file))
        access_key = environment.get(ACCESS_KEY_VARIABLE, "")
        secret_key = environment.get(SECRET_KEY_VARIABLE, "")
        if bool(access_key) != bool(secret_key):
            raise ConfigurationError(
                f"{ACCESS_KEY_VARIABLE} and {SECRET_KEY_VARIABLE} belong together: set both, or"
                " none"
            )
        return Credentials(access_key, secret_key) if access_key else None


_BOUNDS: Final = {
    "connect_timeout_s": ABOVE_0,
    "answer_timeout_s": ABOVE_0,
    "recover_s": ABOVE_0,
    "truncated_after_s": ABOVE_0,
}
