"""Loads a broker's settings from all their sources, and checks them against each other.

defaults < file (-c) < saved at run time < environment GANTRY_<KEY> < flags. Settings saved at run
time are in `gantry/overrides.properties` of the store. The broker's and the store's keys share one
file; keys that begin with `tls.` apply to listeners and to outgoing connections (certificates.py),
and can be set only in the file.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from gantrymq.acl.signature.signature import Credentials
from gantrymq.acl.users.seal import PasswordSeal
from gantrymq.base.configuration.properties import decode_properties
from gantrymq.base.configuration.settings import (
    Bound,
    Layer,
    Source,
    bind,
    environment_layer,
    file_layer,
    flag_layer,
    setting_fields,
    settings_to_text,
)
from gantrymq.base.errors import ConfigurationError, LocalError
from gantrymq.broker.core.access.user_rules import user_rules_of
from gantrymq.broker.core.acl.first_users import first_users, inner_credentials
from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.engine.configuration import REGION_FORM, SETTINGS, check_region
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.processor.admin.java_keys import JAVA_KEYS
from gantrymq.broker.core.settings import BrokerRole, BrokerSettings
from gantrymq.broker.setup import group_setup, link_setup
from gantrymq.broker.setup.addresses import (
    check_master_address,
    identity_of,
    record_address,
    with_own_addresses,
)
from gantrymq.broker.setup.group_setup import GroupSetup
from gantrymq.broker.setup.link_setup import LinkSetup
from gantrymq.runtime.security import secure_defaults
from gantrymq.runtime.security.acl_file import read_credentials
from gantrymq.runtime.security.certificates import ClientTls, ServerTls
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.retention.delete_hours import parse_hours
from gantrymq.store.settings import StoreSettings

OVERRIDES: Final = "gantry/overrides.properties"

# Subtracted from accessMessageInMemoryMaxRatio for a slave; Java's value.
SLAVES_RATIO_LESS: Final = 10

_TLS_PREFIX: Final = "tls."
_BROKER_KEYS: Final = frozenset(each.key for each in setting_fields(BrokerSettings))
_STORE_KEYS: Final = frozenset(each.key for each in setting_fields(StoreSettings))


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that is known before the start."""

    settings: BrokerSettings
    store: StoreSettings
    identity: Identity
    tls: ServerTls = field(default_factory=ServerTls)
    warnings: tuple[str, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Unknown keys; they are kept and shown."""
    sources: Mapping[str, Source] = field(default_factory=dict)
    """The source of each value that is not a default."""
    credentials: Credentials | None = None
    """The credentials with which this broker signs its requests to other servers."""
    client_tls: ClientTls | None = None
    """The TLS settings of outgoing connections; None for plain ones."""
    group: GroupSetup | None = None
    """The group that elects its master; None with a fixed role."""
    seal: PasswordSeal | None = None
    """Encrypts passwords in the file of users, if authKeyFile names a key."""
    links: LinkSetup = field(default_factory=LinkSetup)
    """How brokers of the group prove themselves to each other, and encrypt their links."""

    @property
    def root(self) -> Path:
        """The store's folder."""
        return Path(self.store.store_path_root_dir)


def load(
    config_file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, str],
    data: Path | None = None,
    defaults: Mapping[str, str] | None = None,
) -> Setup:
    """Read the layers. Raises ConfigurationError naming every setting that cannot be used.

    The store is in `store` of the data folder, by default the user's home. `defaults` replace a
    broker's defaults, for a program that starts a broker differently.
    """
    layers, tls, root = _layers(config_file, environment, flags, data, defaults)
    broker, kept = _bound(layers)
    settings = _with_accounts(with_own_addresses(broker), root)
    if settings.secure_defaults:
        secure_defaults.check_broker(settings_to_text(settings), tls)
    server_tls = ServerTls.from_properties(tls)
    links = link_setup.read(broker, tls, server_tls)
    group = group_setup.read(broker, settings, socket.gethostname(), environment=environment)
    ip_address = record_address(broker, has_group=group is not None)
    settings, warnings = _in_group(settings, group) if group else _in_role(settings)
    store = _for_role(replace(kept.settings, store_path_root_dir=str(root)), settings)
    client_tls = _client_tls(tls, broker)
    warnings += _warnings(broker, client_tls) + link_setup.warnings(settings, links)
    return Setup(
        settings,
        store,
        identity_of(settings, group, ip_address),
        server_tls,
        warnings,
        broker.unknown,
        {key: layer.source for key, layer in {**broker.sources, **kept.sources}.items()},
        _credentials(settings),
        client_tls,
        group,
        _seal(settings),
        links,
    )


def _layers(
    config_file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, str],
    data: Path | None,
    defaults: Mapping[str, str] | None,
) -> tuple[list[Layer], dict[str, str], Path]:
    """The layers, the keys that begin with `tls.`, and the store's folder."""
    of_file, tls = _of_file(config_file)
    of_flags, tls_of_flags = _apart(flag_layer(flags))
    tls |= tls_of_flags
    last = [*_of_environment(environment), of_flags]
    own = dict(defaults or {})
    root = _root([Layer(Source.DEFAULT, own), *of_file, *last], data)
    said = [*of_file, *_saved(root), *last]
    if secure_defaults.is_wanted(said):
        own |= secure_defaults.BROKER_DEFAULTS
        tls = {**secure_defaults.TLS_DEFAULTS, **tls}
    return [Layer(Source.DEFAULT, own), *said], tls, root


def _of_environment(environment: Mapping[str, str]) -> list[Layer]:
    return [environment_layer(kind, environment) for kind in (BrokerSettings, StoreSettings)]


def _bound(layers: Iterable[Layer]) -> tuple[Bound[BrokerSettings], Bound[StoreSettings]]:
    """The broker's settings and the store's, which share one file."""
    found = list(layers)
    broker = bind(BrokerSettings, [_without(layer, _STORE_KEYS) for layer in found])
    kept = bind(StoreSettings, [_only(layer, _STORE_KEYS) for layer in found])
    _check_region(broker)
    _check_texts(kept)
    return broker, kept


def _client_tls(tls: Mapping[str, str], broker: Bound[BrokerSettings]) -> ClientTls | None:
    """The TLS settings of outgoing connections: by useTLS if it is set, otherwise by tls.enable and
    the listeners' mode, as in Java."""
    says_so = "useTLS" in broker.sources
    is_wanted = broker.settings.use_tls if says_so else ClientTls.is_wanted(tls)
    return ClientTls.from_properties(tls) if is_wanted else None


def _saved(root: Path) -> list[Layer]:
    """The settings that administrators changed at run time. Values that are not allowed are
    ignored."""
    path = root / OVERRIDES
    if not path.exists():
        return []
    found = file_layer(decode_properties(_read(path)), str(path), Source.SAVED)
    return [SETTINGS.usable(found)]


def _of_file(path: Path | None) -> tuple[list[Layer], dict[str, str]]:
    """The layer of the -c file, and the TLS keys in it."""
    if path is None:
        return [], {}
    rest, tls = _apart(file_layer(decode_properties(_read(path)), str(path)))
    return [rest], tls


def _apart(layer: Layer) -> tuple[Layer, dict[str, str]]:
    """The layer without its TLS keys, and those keys."""
    rest = {k: v for k, v in layer.values.items() if not k.startswith(_TLS_PREFIX)}
    return replace(layer, values=rest), _tls(layer)


def _in_role(settings: BrokerSettings) -> tuple[BrokerSettings, tuple[str, ...]]:
    """The settings with the broker id that belongs to the role, as in Java, and the warnings."""
    role, broker_id = settings.broker_role, settings.broker_id
    if role is BrokerRole.SLAVE:
        if broker_id == 0:
            raise ConfigurationError(
                "Slave's brokerId must be > 0: brokerRole is SLAVE, so give brokerId=1, and each"
                " further slave of this brokerName another number"
            )
        check_master_address(settings.ha_master_address)
        return settings, ()
    if broker_id == 0:
        return settings, ()
    return replace(settings, broker_id=0), (
        f"brokerId={broker_id} is ignored: a master has brokerId 0, and brokerRole is {role}",
    )


def _in_group(
    settings: BrokerSettings, group: GroupSetup
) -> tuple[BrokerSettings, tuple[str, ...]]:
    """The settings with the broker id of a following member, and the warnings."""
    told = []
    if settings.broker_id not in (0, group.number):
        told.append(
            f"brokerId={settings.broker_id} is ignored: groupMembers elect their master, which has"
            f" brokerId 0, and this broker has {group.number} while it is not master"
        )
    if settings.ha_master_address:
        told.append("haMasterAddress is ignored: a member follows the master that its group elects")
    return replace(settings, broker_id=group.number), tuple(told)


def _check_region(broker: Bound[BrokerSettings]) -> None:
    try:
        check_region(broker.settings.region_id)
    except ConfigurationError:
        raise broker.refusal("regionId", REGION_FORM) from None


def _check_texts(kept: Bound[StoreSettings]) -> None:
    """Check texts that the store parses when it opens: here the source of the setting is known."""
    try:
        parse_hours(kept.settings.delete_when)
    except ConfigurationError:
        what = "must be hours from 00 to 23, separated by ';', as in 04 or 04;16"
        raise kept.refusal("deleteWhen", what) from None
    what = "must be numbers with s, m, h or d, one at least, as in 1s 5s 1m 2h"
    try:
        levels = DelayLevels(kept.settings.message_delay_level)
    except LocalError:
        raise kept.refusal("messageDelayLevel", what) from None
    if not levels.delays_ms:
        raise kept.refusal("messageDelayLevel", what)


def _for_role(store: StoreSettings, settings: BrokerSettings) -> StoreSettings:
    """The store's settings. A slave keeps less of its log in memory, as in Java."""
    if settings.broker_role is not BrokerRole.SLAVE:
        return store
    ratio = max(1, store.access_message_in_memory_max_ratio - SLAVES_RATIO_LESS)
    return replace(store, access_message_in_memory_max_ratio=ratio)


def _warnings(bound: Bound[BrokerSettings], client_tls: ClientTls | None) -> tuple[str, ...]:
    """The warnings. Java's keys without effect here share one line; others have one line each."""
    ineffective = sorted(bound.unknown.keys() & JAVA_KEYS)
    told = [line for line in bound.warnings if line.partition(" ")[0] not in JAVA_KEYS]
    if ineffective:
        told.append(f"these keys of Java's broker have no effect here: {', '.join(ineffective)}")
    if client_tls is not None and not client_tls.checks_server:
        told.append(
            "the broker connects to name servers and brokers by TLS without checking certificates:"
            " set tls.client.trustCertPath to the authorities that sign them"
        )
    return tuple(told)


def _with_accounts(settings: BrokerSettings, root: Path) -> BrokerSettings:
    user_rules_of(settings)  # checked here for an early error
    first_users(settings)
    path = settings.acl_file or root / "config" / File.ACL.value
    return replace(settings, acl_file=str(Path(path).absolute()))


def _credentials(settings: BrokerSettings) -> Credentials | None:
    path = settings.acl_credentials_file
    return read_credentials(Path(path)) if path else inner_credentials(settings)


def _seal(settings: BrokerSettings) -> PasswordSeal | None:
    path = settings.auth_key_file
    if not path:
        return None
    try:
        return PasswordSeal(_read(Path(path)).strip())
    except ConfigurationError as error:
        raise ConfigurationError(f"authKeyFile={path} cannot be used: {error}") from error


def _only(layer: Layer, keys: frozenset[str]) -> Layer:
    return replace(layer, values={k: v for k, v in layer.values.items() if k in keys})


def _without(layer: Layer, keys: frozenset[str]) -> Layer:
    return replace(layer, values={k: v for k, v in layer.values.items() if k not in keys})


def _root(layers: Iterable[Layer], data: Path | None) -> Path:
    """The store's folder, from the layers or below the data folder."""
    said = ""
    for layer in layers:
        said = layer.values.get("storePathRootDir", said).strip()
    if said:
        return Path(said).absolute()
    try:
        return ((data or Path.home()) / "store").absolute()
    except RuntimeError as error:
        raise ConfigurationError(
            "there is no home folder for the store: set HOME, or give --data FOLDER"
        ) from error


def _tls(layer: Layer) -> dict[str, str]:
    """The TLS keys. Where tls.config.file names a file, its values win, as in Java."""
    tls = {key: value for key, value in layer.values.items() if key.startswith(_TLS_PREFIX)}
    if path := tls.pop("tls.config.file", "").strip():
        tls |= file_layer(decode_properties(_read(Path(path))), path).values
    return tls


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"{path} cannot be read: {cause}") from error
