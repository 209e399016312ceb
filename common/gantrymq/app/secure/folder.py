"""Creates the folder of `gantry secure init`: certificates, accounts, secrets and settings.

    ca.pem, ca-key.pem            the authority; its key signs further certificates
    server.pem, server-key.pem    the certificate of brokers and name servers
    plain_acl.yml                 the accounts: an administrator with a random secret
    conf/tools.yml                that administrator's keys, for brokers and commands
    tls.properties                for `gantry --tls FILE` and RocketMQ's clients
    group.secret                  with which brokers of a group authenticate each other
    metrics.token                 the bearer token for /metrics
    broker.conf, namesrv.conf     settings that name these files

Only their owner can read files with secrets. No file is ever overwritten.
"""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.authority import (
    CERTIFICATE_DAYS,
    Issued,
    make_authority,
    make_certificate,
)

ADMINISTRATOR: Final = "administrator"

_PRIVATE: Final = 0o600
_PUBLIC: Final = 0o644
_SECRET_BYTES: Final = 32

_SERVER: Final = """\
# Settings of a {server} that is protected: gantry {program} -c {folder}/{program}.conf
secureDefaults=true
tls.server.certPath={folder}/server.pem
tls.server.keyPath={folder}/server-key.pem
tls.client.trustCertPath={folder}/ca.pem
aclFile={folder}/plain_acl.yml
metricsTokenFile={folder}/metrics.token
"""
_BROKER: Final = """\
aclCredentialsFile={folder}/conf/tools.yml
groupSecretFile={folder}/group.secret
namesrvAddr=127.0.0.1:9876
"""
_ACCOUNTS: Final = """\
# The accounts that may use the servers; a change takes effect within two seconds.
accounts:
- accessKey: {key}
  secretKey: {secret}
  admin: true
"""
_KEYS: Final = "accessKey: {key}\nsecretKey: {secret}\n"
_CLIENT: Final = "tls.enable=true\ntls.client.trustCertPath={folder}/ca.pem\n"


def make(folder: Path, hosts: Sequence[str], now: datetime.datetime) -> None:
    """Create the folder and its files; ConfigurationError if the folder has files already."""
    folder = folder.absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConfigurationError(
                f"{folder} contains files, and this command overwrites nothing; name a new folder"
            )
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be created: {error.strerror}") from error
    authority = make_authority("Gantry certificate authority", now)
    _write_pair(folder, "ca", authority)
    server = make_certificate(authority, hosts[0], hosts, now, CERTIFICATE_DAYS)
    _write_pair(folder, "server", server)
    (folder / "conf").mkdir(mode=0o700)  # where mqadmin looks in its ROCKETMQ_HOME
    for name, text in _texts(folder).items():
        is_public = name.endswith((".conf", ".properties"))
        _write(folder / name, text.encode(), _PUBLIC if is_public else _PRIVATE)


def add_certificate(
    folder: Path, name: str, hosts: Sequence[str], days: int, now: datetime.datetime
) -> tuple[Path, Path]:
    """Sign one more certificate with the folder's authority; return its file and its key's file."""
    if not name or name.startswith(".") or "/" in name:
        raise ConfigurationError(
            f"{name[:80]!r}: the name must be a file name without a folder, for example broker-2"
        )
    authority = Issued(_read(folder / "ca.pem"), _read(folder / "ca-key.pem"))
    try:
        issued = make_certificate(authority, name, hosts, now, days)
    except ValueError as error:
        raise ConfigurationError(
            f"{folder}: ca.pem and ca-key.pem are not a certificate authority and its key: {error}"
        ) from error
    return _write_pair(folder, name, issued)


def _texts(folder: Path) -> Mapping[str, str]:
    account = {"key": ADMINISTRATOR, "secret": secrets.token_urlsafe(_SECRET_BYTES)}
    server = {"folder": folder}
    broker = _SERVER.format(server="broker", program="broker", **server) + _BROKER.format(**server)
    return {
        "plain_acl.yml": _ACCOUNTS.format(**account),
        "conf/tools.yml": _KEYS.format(**account),
        "tls.properties": _CLIENT.format(**server),
        "group.secret": secrets.token_hex(_SECRET_BYTES) + "\n",
        "metrics.token": secrets.token_hex(_SECRET_BYTES) + "\n",
        "broker.conf": broker,
        "namesrv.conf": _SERVER.format(server="name server", program="namesrv", **server),
    }


def _write_pair(folder: Path, name: str, issued: Issued) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.pem", folder / f"{name}-key.pem"
    _write(key, issued.key, _PRIVATE)
    _write(certificate, issued.certificate, _PUBLIC)
    return certificate, key


def _write(path: Path, content: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except FileExistsError as error:
        raise ConfigurationError(
            f"{path} exists already, and this command overwrites nothing"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}; `gantry secure init {path.parent}` makes a"
            " folder with an authority"
        ) from error
