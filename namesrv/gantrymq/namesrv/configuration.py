"""Loads a name server's settings and tables when it starts.

defaults < file (-c) < environment GANTRY_<KEY> < flags. Without a -c file, changes by requests at
run time are saved in ~/namesrv/namesrv.properties and read from there. Keys that begin with `tls.`
configure TLS (certificates.py); the file and flags may have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from gantrymq.base.configuration.properties import decode_properties
from gantrymq.base.configuration.settings import (
    Bound,
    Layer,
    Source,
    bind,
    environment_layer,
    file_layer,
    flag_layer,
    settings_to_text,
)
from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.namesrv.core.config.kvconfig import KvTables, Namespaces
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.listening import listen_addresses
from gantrymq.namesrv.core.settings import SETTINGS, NameServerSettings
from gantrymq.runtime.net.address import own_address
from gantrymq.runtime.net.listening import ANY_V6
from gantrymq.runtime.net.net import Listener
from gantrymq.runtime.security import secure_defaults
from gantrymq.runtime.security.certificates import ClientTls, ServerTls
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_config_from_json

_TLS_PREFIX: Final = "tls."


@dataclass(frozen=True, slots=True)
class Setup:
    """The configuration of a name server before its start."""

    settings: NameServerSettings
    tls: ServerTls = field(default_factory=ServerTls)
    warnings: tuple[str, ...] = ()
    client_tls: ClientTls | None = None
    """TLS settings of connections to brokers; None for plain connections."""


def load(
    config_file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, str],
    home: Path | None = None,
) -> Setup:
    """Read the layers; ConfigurationError names every setting that cannot be used.

    `home` is the user's by default, and needed only if a file belongs there.
    """
    store = config_file or _folder(home) / "namesrv.properties"
    layers: list[Layer] = []
    tls: dict[str, str] = {}
    content = _read(store) if config_file is not None else _read_if_there(store)
    if content is not None:
        source = Source.SAVED if config_file is None else Source.FILE
        of_file, tls = _apart(file_layer(decode_properties(content), str(store), source))
        layers.append(SETTINGS.usable(of_file) if config_file is None else of_file)
    layers.append(environment_layer(NameServerSettings, environment))
    of_flags, tls_of_flags = _apart(flag_layer({**flags, "configStorePath": str(store)}))
    layers.append(of_flags)
    tls |= tls_of_flags
    is_secure = secure_defaults.is_wanted(layers)
    if is_secure:
        layers.insert(0, Layer(Source.DEFAULT, secure_defaults.SERVER_DEFAULTS))
        tls = {**secure_defaults.TLS_DEFAULTS, **tls}
    bound = bind(NameServerSettings, layers)
    settings = _completed(bound, home)
    if is_secure:
        secure_defaults.check_name_server(settings_to_text(settings), tls)
    listeners(settings)
    client_tls = ClientTls.from_properties(tls) if ClientTls.is_wanted(tls) else None
    return Setup(settings, ServerTls.from_properties(tls), bound.warnings, client_tls)


def _completed(bound: Bound[NameServerSettings], home: Path | None) -> NameServerSettings:
    """The settings with defaults that depend on the machine: addresses and files."""
    settings = bound.settings
    if "bindAddress" not in bound.sources and ":" in own_address():
        # A pod may have IPv6 only; then a listener on IPv4 is unreachable.
        settings = replace(settings, bind_address=ANY_V6)
    if not settings.metrics_bind_address:
        settings = replace(settings, metrics_bind_address=settings.bind_address)
    if not settings.kv_config_path:
        settings = replace(settings, kv_config_path=str(_folder(home) / "kvConfig.json"))
    if settings.acl_enable and not settings.acl_file:
        settings = replace(settings, acl_file=str(_folder(home) / "plain_acl.yml"))
    return settings


def _folder(home: Path | None) -> Path:
    """The default folder of the name server's own files."""
    try:
        return (home or Path.home()) / "namesrv"
    except RuntimeError as error:
        raise ConfigurationError(
            "there is no home folder to keep files in; set HOME, or give -c FILE and kvConfigPath"
        ) from error


def _apart(layer: Layer) -> tuple[Layer, dict[str, str]]:
    """Split a layer into settings and TLS keys."""
    rest = {k: v for k, v in layer.values.items() if not k.startswith(_TLS_PREFIX)}
    return replace(layer, values=rest), _tls(layer)


def _tls(layer: Layer) -> dict[str, str]:
    """The TLS keys. If tls.config.file names a file, its values win, as in Java."""
    tls = {key: value for key, value in layer.values.items() if key.startswith(_TLS_PREFIX)}
    if path := tls.pop("tls.config.file", "").strip():
        tls |= file_layer(decode_properties(_read(Path(path))), path).values
    return tls


def listeners(settings: NameServerSettings) -> list[Listener]:
    """The listeners that `listeners` names, or the one of bindAddress and listenPort."""
    return [Listener(each.name, each.host, each.port) for each in listen_addresses(settings)]


def load_kv(path: Path) -> Namespaces:
    """Load the KV configuration.

    An unreadable file stops the start: otherwise the next change would replace it by a file without
    its content.
    """
    content = _read_if_there(path)
    if content is None:
        return {}
    kv_bytes_max = NameServerLimits().kv_bytes_max
    try:
        # Java indents the file, so it may be longer than its content.
        namespaces = kv_config_from_json(javajson.loads(content, kv_bytes_max * 2))
    except RemoteError as error:
        raise ConfigurationError(
            f"kvConfigPath={path} is no KV configuration: {error}; repair the file, or move it"
            " away to start with none"
        ) from error
    size = KvTables.of(namespaces).size
    if size > kv_bytes_max:
        raise ConfigurationError(
            f"kvConfigPath={path} holds {size} bytes of KV configuration; at most {kv_bytes_max}"
            " can be served; take out what is not needed"
        )
    return namespaces


def _read_if_there(path: Path) -> bytes | None:
    """The content; None if there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError | ValueError) -> ConfigurationError:
    """The error for a file that cannot be read; ValueError means an impossible file name."""
    cause = error.strerror if isinstance(error, OSError) else error
    return ConfigurationError(f"{path} cannot be read: {cause}")
