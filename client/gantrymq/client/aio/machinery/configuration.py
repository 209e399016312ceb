"""Reads settings from defaults, a properties file, the environment and keywords.

Later sources override earlier ones. File and environment use RocketMQ's names and milliseconds;
keywords are the fields of the settings classes, in seconds.

    namesrvAddr=n1:9876;n2:9876        NAMESRV_ADDR, in the environment
    sendMsgTimeout=5000                send_timeout_s=5.0
    accessKey, secretKey               access_key, secret_key; securityToken: security_token
    rocketmq.namesrv.domain            name_server_url, of the list that Java's clients fetch
    useTLS, tls.enable, tls.client.*   tls=True, or a ClientTls
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias, TypedDict, TypeVar

from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.configuration.properties import decode_properties, parse_properties
from gantrymq.base.errors import ConfigurationError
from gantrymq.client.aio.machinery.environment import Identity
from gantrymq.client.core.instance.hooks import RequestHook
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.runtime.security.certificates import ClientTls
from gantrymq.runtime.security.client_contexts import ClientContexts

# Any: the value of a setting, checked by its class; S is a dataclass of settings.
S = TypeVar("S")
Reader: TypeAlias = Callable[[str], Any]
Names: TypeAlias = Mapping[str, tuple[str, Reader]]
"""RocketMQ's name of a setting, mapped to the field and the parser of its text."""


class ClientKeywords(TypedDict, total=False):
    """Keywords of every producer and consumer."""

    name_servers: str | Sequence[str]
    client_ip: str
    instance_name: str
    name_server_url: str
    unit_name: str
    unit_mode: bool
    namespace: str
    namespace_v2: str
    vip_channel: bool
    poll_name_server_s: float
    heartbeat_s: float
    persist_offsets_s: float
    rebalance_s: float
    api_timeout_s: float
    access_key: str
    secret_key: str
    security_token: str
    tls: bool | ClientTls
    request_hooks: Sequence[RequestHook]
    properties_file: str | Path


def seconds(text: str) -> float:
    """Parse milliseconds as seconds."""
    return int(text) / 1000


def flag(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("must be true or false")
    return text.lower() == "true"


def addresses(text: str) -> tuple[str, ...]:
    """Parse `n1:9876;n2:9876`, each with or without a scheme."""
    parts = (part.strip() for part in re.split("[;,]", text))
    return tuple(part.rpartition("/")[2] for part in parts if part)


DOMAIN: Final = "rocketmq.namesrv.domain"
SUBGROUP: Final = "rocketmq.namesrv.domain.subgroup"


def list_url(domain: str, group: str, unit: str) -> str:
    """Return the URL at which Java's clients fetch the list of name servers."""
    host = domain if ":" in domain else f"{domain}:8080"
    query = f"-{unit}?nofix=1" if unit else ""
    return f"http://{host}/rocketmq/{group or 'nsaddr'}{query}"


CLIENT_NAMES: Final[Names] = {
    "rocketmq.namesrv.addr": ("name_servers", addresses),
    "namesrvAddr": ("name_servers", addresses),
    "NAMESRV_ADDR": ("name_servers", addresses),
    "rocketmq.client.name": ("instance_name", str),
    "instanceName": ("instance_name", str),
    "clientIP": ("client_ip", str),
    "unitName": ("unit_name", str),
    "unitMode": ("unit_mode", flag),
    "namespace": ("namespace", str),
    "namespaceV2": ("namespace_v2", str),
    "com.rocketmq.sendMessageWithVIPChannel": ("vip_channel", flag),
    "vipChannelEnabled": ("vip_channel", flag),
    "pollNameServerInterval": ("poll_name_server_s", seconds),
    "heartbeatBrokerInterval": ("heartbeat_s", seconds),
    "persistConsumerOffsetInterval": ("persist_offsets_s", seconds),
    "mqClientApiTimeout": ("api_timeout_s", seconds),
}
_IDENTITY_NAMES: Final = frozenset(
    {"access_key", "secret_key", "security_token", "tls", "request_hooks", "properties_file"}
)
# An endpoint whose host begins with the instance id, which is used as the namespace.
_INSTANCE: Final = re.compile(r"(MQ_INST_\w+_\w+)\.")


def choose(
    kind: type[S],
    names: Names,
    keywords: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
) -> tuple[ClientSettings, Identity, S]:
    """Return the client's settings, its identity, and the member's own settings; raises
    ConfigurationError."""
    texts = _texts(keywords.get("properties_file"), environment)
    known = {**CLIENT_NAMES, **names}
    values: dict[str, Any] = dict(_read(texts, known))
    values |= {
        name: value
        for name, value in keywords.items()
        if name not in _IDENTITY_NAMES and (value or name != "name_servers")
    }
    servers = values.get("name_servers", ())
    values["name_servers"] = addresses(servers if isinstance(servers, str) else ";".join(servers))
    domain = texts.get(DOMAIN, "").strip()
    if domain and not values.get("name_server_url"):
        group = texts.get(SUBGROUP, "").strip()
        values["name_server_url"] = list_url(domain, group, values.get("unit_name", ""))
    if not values.get("namespace"):
        found = _INSTANCE.match(next(iter(values["name_servers"]), ""))
        values["namespace"] = "" if found is None else found[1]
    client_fields = {each.name for each in dataclasses.fields(ClientSettings)}
    client = {name: value for name, value in values.items() if name in client_fields}
    rest = {name: value for name, value in values.items() if name not in client_fields}
    return ClientSettings(**client), _identity(texts, keywords), _made(kind, rest)


def _texts(file: str | Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Read the settings of the file; the environment overrides them."""
    texts: dict[str, str] = {}
    if file is not None:
        try:
            texts |= parse_properties(decode_properties(Path(file).read_bytes()))
        except OSError as error:
            raise ConfigurationError(
                f"properties_file={file} cannot be read: {error.strerror}"
            ) from error
    names = (*CLIENT_NAMES, DOMAIN, SUBGROUP)
    return texts | {name: environment[name] for name in names if name in environment}


def _read(texts: Mapping[str, str], names: Names) -> list[tuple[str, Any]]:
    """Parse the known settings; ignore others, because files are shared with other programs."""
    found = []
    for name, (field, reader) in names.items():
        text = texts.get(name, "").strip()
        if text:
            try:
                found.append((field, reader(text)))
            except ValueError as error:
                raise ConfigurationError(f"{name}={text} cannot be used: {error}") from None
    return found


def _made(kind: type[S], values: Mapping[str, Any]) -> S:
    fields = {each.name for each in dataclasses.fields(kind)}  # type: ignore[arg-type]  # see S
    unknown = sorted(set(values) - fields)
    if unknown:
        clients = {each.name for each in dataclasses.fields(ClientSettings)}
        known = ", ".join(sorted(fields | clients | _IDENTITY_NAMES))
        raise ConfigurationError(f"{', '.join(unknown)}: no such setting; there are {known}")
    return kind(**values)


def _identity(texts: Mapping[str, str], keywords: Mapping[str, Any]) -> Identity:
    access_key = keywords.get("access_key") or texts.get("accessKey", "").strip()
    secret_key = keywords.get("secret_key") or texts.get("secretKey", "").strip()
    if bool(access_key) != bool(secret_key):
        raise ConfigurationError("access_key and secret_key belong together: give both, or none")
    token = keywords.get("security_token") or texts.get("securityToken", "").strip()
    credentials = Credentials(access_key, secret_key, token) if access_key else None
    return Identity(credentials, _tls(texts, keywords), tuple(keywords.get("request_hooks", ())))


def _tls(texts: Mapping[str, str], keywords: Mapping[str, Any]) -> ClientContexts | None:
    wanted = keywords.get("tls")
    if isinstance(wanted, ClientTls):
        return _contexts(wanted)
    if wanted is None:
        in_file = texts.get("useTLS", "").strip().lower()
        wanted = in_file == "true" if in_file else ClientTls.is_wanted(texts)
    return _contexts(ClientTls.from_properties(texts)) if wanted else None


@lru_cache(maxsize=64)
def _contexts(settings: ClientTls) -> ClientContexts:
    """Return equal contexts for equal settings, because members that share a client must have equal
    identities."""
    return ClientContexts(settings)
