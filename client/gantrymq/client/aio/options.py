"""What every producer and consumer may be told about its client: keywords, with their defaults.

name_servers      "host:9876;host:9876" or a list; else NAMESRV_ADDR
instance_name     members of one name and equal settings share one client
credentials, tls  who it is, and how it speaks to servers
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar

from gantrymq.acl.signature import Credentials
from gantrymq.client.aio.client import Client, join
from gantrymq.client.aio.world import REAL, Identity, World
from gantrymq.client.core.settings import ClientSettings
from gantrymq.runtime.client_contexts import ClientContexts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    S = TypeVar("S", bound=DataclassInstance)

NAME_SERVERS_VARIABLE: Final = "NAMESRV_ADDR"


class ClientOptions(TypedDict, total=False):
    """Keywords of ClientSettings, and who the client is."""

    name_servers: str | Sequence[str]
    client_ip: str
    instance_name: str
    unit_name: str
    namespace: str
    vip_channel: bool
    poll_name_server_s: float
    heartbeat_s: float
    persist_offsets_s: float
    rebalance_s: float
    api_timeout_s: float
    credentials: Credentials | None
    tls: ClientContexts | None
    world: World


def chosen(kind: type[S], options: Mapping[str, object]) -> S:
    """Those of the options that are fields of this dataclass of settings; defaults for others."""
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in options.items() if name in names})


def settings_of(options: ClientOptions) -> ClientSettings:
    addresses = addresses_of(options.get("name_servers", ()))
    return chosen(ClientSettings, {**options, "name_servers": addresses})


def joined(options: ClientOptions) -> Client:
    """The client of a member with these options, on the running loop."""
    identity = Identity(options.get("credentials"), options.get("tls"))
    return join(settings_of(options), identity, options.get("world", REAL))


def addresses_of(name_servers: str | Sequence[str]) -> tuple[str, ...]:
    """One text with ";" or "," between addresses, or several; the environment's when empty."""
    given = name_servers or os.environ.get(NAME_SERVERS_VARIABLE, "")
    parts = re.split(r"[;,]", given) if isinstance(given, str) else given
    return tuple(part.strip() for part in parts if part.strip())
