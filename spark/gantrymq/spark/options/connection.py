"""Defines the options of the connection to the servers.

Executors receive these values, and plans show them. Secrets therefore stay in files and in the
environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gantrymq.spark.options import table
from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.options.values import OptionValues

NAME_SERVERS_VARIABLE: Final = "NAMESRV_ADDR"


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """How to reach a cluster, without any secret."""

    name_servers: tuple[str, ...]
    credentials_file: str | None
    tls: bool
    tls_file: str | None
    timeout_s: float


def connection_options(values: OptionValues, environment: Mapping[str, str]) -> ConnectionOptions:
    """Raises RocketMQOptionError."""
    name_servers = values.find(table.NAME_SERVER)
    if name_servers is None:
        text = environment.get(NAME_SERVERS_VARIABLE, "")
        if not text.strip():
            raise RocketMQOptionError(
                "option nameServer is missing: give host:port of the name servers, several"
                f" separated by ;, or set {NAME_SERVERS_VARIABLE} for the driver"
            )
        name_servers = OptionValues({table.NAME_SERVER.name: text}).get(table.NAME_SERVER)
    return ConnectionOptions(
        name_servers,
        values.find(table.CREDENTIALS_FILE),
        values.get(table.TLS) or values.has(table.TLS_FILE),
        values.find(table.TLS_FILE),
        values.get(table.REQUEST_TIMEOUT) / 1000,
    )
