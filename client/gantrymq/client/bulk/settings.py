"""Defines the settings of bulk reads and writes, which can be pickled for other processes.

Give access keys by a file, or by the environment of the process that connects, because a settings
object with keys is pickled with them. Keys never appear in a text.
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
    """The cluster, the group and the timeouts of bulk reads and writes."""

    name_servers: tuple[str, ...]
    """The host:port of each name server."""
    group: str
    """The consumer or producer group of this program."""
    namespace: str = ""
    credentials_file: str = ""
    """The path of a file with the lines accessKey: and secretKey:, like RocketMQ's conf/tools.yml.
    The process that connects reads it. Without it, the environment variables GANTRY_ACCESS_KEY and
    GANTRY_SECRET_KEY are used if they are set."""
    credentials: Credentials | None = field(default=None, repr=False)
    """Keys by value, for programs that store them elsewhere."""
    tls: ClientTls | None = None
    """None: connections are plain."""
    connect_timeout_s: float = 5.0
    answer_timeout_s: float = 30.0
    """How long a server may take to send the next byte of a response."""
    recover_s: float = 60.0
    """How long requests are retried if a broker does not respond or has no master."""
    truncated_after_s: float = 10.0
    """How long a queue may end before the requested messages until they count as lost."""

    def __post_init__(self) -> None:
        must_fit(self, _BOUNDS)
        if not self.name_servers:
            raise ConfigurationError(
                "no name server address is set: give name_servers, host:port of each"
            )

    def signs_with(self, environment: Mapping[str, str] = os.environ) -> Credentials | None:
        """Return the keys that sign requests; None for a cluster without access control."""
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
