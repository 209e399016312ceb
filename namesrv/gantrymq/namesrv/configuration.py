"""Where a name server's settings and tables come from when it starts.

defaults < file (-c) < environment GANTRY_<KEY> < flags. Without a -c file, what requests changed
at run time is kept in ~/namesrv/namesrv.properties and read from there. Keys that begin with `tls.`
are the listeners' (certificates.py); only the file has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.base.properties import decode_properties
from gantrymq.base.settings import Layer, Source, bind, environment_layer, file_layer, flag_layer
from gantrymq.namesrv.core.kvconfig import Namespaces
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.messages import LISTENER_DEFAULT
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.runtime.certificates import ServerTls
from gantrymq.runtime.net import Listener
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_config_from_json

_TLS_PREFIX: Final = "tls."


@dataclass(frozen=True, slots=True)
class Setup:
    """All that is known before the start."""

    settings: NameServerSettings
    tls: ServerTls = field(default_factory=ServerTls)
    warnings: tuple[str, ...] = ()


def load(
    config_file: Path | None, environment: Mapping[str, str], flags: Mapping[str, str], home: Path
) -> Setup:
    """Read the layers; ConfigurationError names every setting that cannot be used."""
    folder = home / "namesrv"
    store = config_file or folder / "namesrv.properties"
    defaults = {"kvConfigPath": str(folder / "kvConfig.json")}
    layers = [Layer(Source.DEFAULT, defaults)]
    tls: dict[str, str] = {}
    if config_file is not None or store.exists():
        source = Source.SAVED if config_file is None else Source.FILE
        layer = file_layer(decode_properties(_read(store)), str(store), source)
        rest = {k: v for k, v in layer.values.items() if not k.startswith(_TLS_PREFIX)}
        tls = _tls(layer)
        layers.append(Layer(source, rest, layer.place))
    layers.append(environment_layer(NameServerSettings, environment))
    layers.append(flag_layer({**flags, "configStorePath": str(store)}))
    bound = bind(NameServerSettings, layers)
    listeners(bound.settings)
    return Setup(bound.settings, ServerTls.from_properties(tls), bound.warnings)


def _tls(layer: Layer) -> dict[str, str]:
    """The listeners' keys. Where tls.config.file names a file, its values win, as in Java."""
    tls = {key: value for key, value in layer.values.items() if key.startswith(_TLS_PREFIX)}
    if path := tls.pop("tls.config.file", "").strip():
        tls |= file_layer(decode_properties(_read(Path(path))), path).values
    return tls


def listeners(settings: NameServerSettings) -> list[Listener]:
    """`listeners`, or the one that bindAddress and listenPort make."""
    if not settings.listeners:
        return [Listener(LISTENER_DEFAULT, settings.bind_address, settings.listen_port)]
    found: dict[str, Listener] = {}
    for item in settings.listeners.split(","):
        name, _, address = item.strip().partition(":")
        host, _, port = address.rpartition(":")
        is_port = port.isascii() and port.isdigit() and int(port) < 65_536
        if not (name and host and is_port) or name in found:
            raise ConfigurationError(
                f"listeners={settings.listeners}: {item.strip()!r} is not a new name:address:port;"
                " write for example internal:0.0.0.0:9876,external:0.0.0.0:9877"
            )
        found[name] = Listener(name, host.strip("[]"), int(port))
    return list(found.values())


def load_kv(path: Path) -> Namespaces:
    """The KV configuration. One that cannot be read stops the start: the next change would
    otherwise replace it by a file without all that was in it."""
    if not path.exists():
        return {}
    bound = NameServerLimits().kv_bytes_max * 8
    try:
        return kv_config_from_json(javajson.loads(_read(path), bound))
    except RemoteError as error:
        raise ConfigurationError(
            f"kvConfigPath={path} is no KV configuration: {error}; repair the file, or move it"
            " away to start with none"
        ) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
