"""Makes the client settings of a read or write. Secrets are read in the process that uses them."""

from __future__ import annotations

import itertools
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gantrymq.base.configuration.properties import decode_properties, parse_properties
from gantrymq.base.errors import ConfigurationError
from gantrymq.client.aio.machinery.configuration import ClientKeywords
from gantrymq.runtime.security.acl_file import read_credentials
from gantrymq.runtime.security.certificates import ClientTls
from gantrymq.spark.options.connection import ConnectionOptions
from gantrymq.spark.options.errors import RocketMQOptionError

ACCESS_KEY_VARIABLE: Final = "GANTRY_ACCESS_KEY"
SECRET_KEY_VARIABLE: Final = "GANTRY_SECRET_KEY"  # noqa: S105 - the variable's name

CLIENT_KIND: Final = "spark"
"""The part of a client id before the @, in place of the client's address."""

_numbers: Final = itertools.count(1)


def client_keywords(
    connection: ConnectionOptions, environment: Mapping[str, str] = os.environ
) -> ClientKeywords:
    """The settings of any client of this process. Raises RocketMQOptionError."""
    keywords: ClientKeywords = {
        "name_servers": connection.name_servers,
        "client_ip": CLIENT_KIND,
        "instance_name": instance_name(environment),
    }
    keys = _keys(connection.credentials_file, environment)
    if keys is not None:
        keywords["access_key"], keywords["secret_key"] = keys
    tls = client_tls(connection)
    if tls is not None:
        keywords["tls"] = tls
    return keywords


def client_tls(connection: ConnectionOptions) -> ClientTls | None:
    """Return the TLS settings; None for plain connections. Raises RocketMQOptionError."""
    if not connection.tls:
        return None
    return _tls(connection.tls_file)


def instance_name(environment: Mapping[str, str] = os.environ) -> str:
    """Return a unique instance name for a new client: `application-pid#number`.

    Spark on Kubernetes tells drivers and executors the application's id; elsewhere the host stands
    for it.
    """
    application = environment.get("SPARK_APPLICATION_ID") or platform.node()
    return f"{application}-{os.getpid()}#{next(_numbers)}"


def _keys(file: str | None, environment: Mapping[str, str]) -> tuple[str, str] | None:
    if file is not None:
        try:
            credentials = read_credentials(Path(file))
        except ConfigurationError as error:
            raise RocketMQOptionError(
                f"option credentialsFile={file!r} cannot be used on this host: {error}"
            ) from None
        return credentials.access_key, credentials.secret_key
    key, secret = environment.get(ACCESS_KEY_VARIABLE), environment.get(SECRET_KEY_VARIABLE)
    return (key, secret) if key and secret else None


def _tls(file: str | None) -> ClientTls:
    """Return the TLS settings of a file. Without a file, any certificate is accepted."""
    if file is None:
        return ClientTls.from_properties({})
    try:
        return ClientTls.from_properties(
            parse_properties(decode_properties(Path(file).read_bytes()))
        )
    except (OSError, ConfigurationError) as error:
        raise RocketMQOptionError(
            f"option tlsFile={file!r} cannot be used on this host: {error}"
        ) from None
