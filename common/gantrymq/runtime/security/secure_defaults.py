"""Checks that a server with secureDefaults=true is protected before it starts.

With `secureDefaults=true` the defaults change: TLS is enforced, access control is on, and metrics
listen on loopback. No mistake can weaken this: a setting that does, or a missing file, stops the
start, and the error text names each of them with the command that fixes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from gantrymq.base.configuration.settings import Layer
from gantrymq.base.errors import ConfigurationError
from gantrymq.base.exposure import is_loopback

KEY: Final = "secureDefaults"
TLS_DEFAULTS: Final = {"tls.server.mode": "enforcing"}
SERVER_DEFAULTS: Final = {"aclEnable": "true", "metricsBindAddress": "127.0.0.1"}
BROKER_DEFAULTS: Final = {**SERVER_DEFAULTS, "haTls": "required", "useTLS": "true"}

# RocketMQ 5's users and policies, an alternative to aclEnable.
_USERS: Final = ("authenticationEnabled", "authorizationEnabled")

_MAKES_ALL: Final = (
    "`gantry secure init DIR` makes certificates, an administrator's account, a group secret and"
    " configuration files to start from"
)

IsFile = Callable[[str], bool]


def is_wanted(layers: Iterable[Layer]) -> bool:
    """Whether these layers set secureDefaults=true; the last layer that has the key decides."""
    said = ""
    for layer in layers:
        said = layer.values.get(KEY, said)
    return said.strip().lower() == "true"


def _is_file(path: str) -> bool:
    return Path(path).is_file()


def check_name_server(
    settings: Mapping[str, str], tls: Mapping[str, str], is_file: IsFile = _is_file
) -> None:
    """Raise ConfigurationError if a name server with these settings is not protected.

    `settings` are all settings as text, `tls` the keys that begin with `tls.`.
    """
    _refuse([*_server_faults(settings, tls, is_file)])


def check_broker(
    settings: Mapping[str, str], tls: Mapping[str, str], is_file: IsFile = _is_file
) -> None:
    """Raise ConfigurationError if a broker with these settings is not protected."""
    faults = [
        *_server_faults(settings, tls, is_file),
        *_dialling_faults(settings, tls, is_file),
        *_replication_faults(settings, is_file),
    ]
    _refuse(faults)


def _refuse(faults: list[str]) -> None:
    if faults:
        lines = "\n".join(f"  {fault}" for fault in faults)
        raise ConfigurationError(
            f"{KEY}=true, and the server is not protected yet:\n{lines}\n{_MAKES_ALL}"
        )


def _server_faults(
    settings: Mapping[str, str], tls: Mapping[str, str], is_file: IsFile
) -> Iterator[str]:
    mode = tls.get("tls.server.mode", "").strip()
    if mode.lower() != "enforcing":
        yield f"tls.server.mode={mode} takes clients without TLS; leave it out, or write enforcing"
    if tls.get("tls.test.mode.enable", "").strip().lower() == "true":
        yield "tls.test.mode.enable=true makes a certificate that no client can check; leave it out"
    yield from _missing(tls, "tls.server.certPath", "the server's certificate", is_file)
    yield from _missing(tls, "tls.server.keyPath", "the key of that certificate", is_file)
    yield from _access_faults(settings, is_file)
    yield from _metrics_faults(settings, is_file)


def _access_faults(settings: Mapping[str, str], is_file: IsFile) -> Iterator[str]:
    """Faults of access control: by accounts in a file, or by RocketMQ 5's users and policies."""
    has_users = all(_is_on(settings, key) for key in _USERS)
    if _is_on(settings, "aclEnable"):
        yield from _missing(settings, "aclFile", "the accounts", is_file)
    elif not has_users:
        yield "aclEnable=false lets every client do everything; leave it out, or write true"


def _metrics_faults(settings: Mapping[str, str], is_file: IsFile) -> Iterator[str]:
    if settings["metricsPort"] == "0":
        return
    address = settings["metricsBindAddress"]
    if not is_loopback(address) and not settings["metricsTokenFile"]:
        yield (
            f"metricsBindAddress={address} shows metrics to every client, and metricsTokenFile is"
            " not set; set it (`openssl rand -hex 32` makes a token), or bind 127.0.0.1"
        )
    if settings["metricsTokenFile"]:
        yield from _missing(settings, "metricsTokenFile", "the token for metrics", is_file)


def _dialling_faults(
    settings: Mapping[str, str], tls: Mapping[str, str], is_file: IsFile
) -> Iterator[str]:
    """Faults of the broker's requests to name servers and other brokers."""
    if not _is_on(settings, "useTLS"):
        yield "useTLS=false dials name servers and brokers without TLS; leave it out"
    if tls.get("tls.enable", "").strip().lower() == "false":
        yield "tls.enable=false dials name servers and brokers without TLS; leave it out"
    if tls.get("tls.client.authServer", "").strip().lower() == "false":
        yield "tls.client.authServer=false takes any server's certificate; leave it out"
    about = "the authority that signs the certificates of name servers and brokers"
    yield from _missing(tls, "tls.client.trustCertPath", about, is_file)
    about = "the account with which the broker signs what it asks of name servers and brokers"
    yield from _missing(settings, "aclCredentialsFile", about, is_file)


def _replication_faults(settings: Mapping[str, str], is_file: IsFile) -> Iterator[str]:
    if _is_on(settings, "haAllowUnauthenticatedSlaves"):
        yield "haAllowUnauthenticatedSlaves=true lets every peer copy all messages; leave it out"
    if settings["haTls"] != "required":
        yield f"haTls={settings['haTls']} copies messages without TLS; leave it out"
    if _is_on(settings, "haListen") or settings["brokerRole"] == "SLAVE":
        about = (
            "the secret by which the brokers of a group prove themselves (`openssl rand -hex 32`"
            " makes one; haListen=false does without slaves)"
        )
        yield from _missing(settings, "groupSecretFile", about, is_file)


def _missing(values: Mapping[str, str], key: str, about: str, is_file: IsFile) -> Iterator[str]:
    path = values.get(key, "").strip()
    if not path:
        yield f"{key} is not set: {about}"
    elif not is_file(path):
        yield f"{key}={path} is no file: {about}"


def _is_on(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "") == "true"
