"""Writes a sample configuration of a broker: every setting, its description and its default.

Invariant: every setting is commented out, so the file changes nothing until it is edited. Without
the `#` before the keys it still configures what a standalone start uses by default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gantrymq.base.configuration.settings import SettingField, SettingValue, setting_fields
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.store.settings import StoreSettings

_HEAD: Final = """\
# Settings of a broker: gantry standalone -c FILE, or gantry broker -c FILE.
# Keys and values are those of RocketMQ's broker.conf, which works here as it is. A setting
# that is commented out shows its default. An environment variable GANTRY_<KEY>, for example
# GANTRY_LISTEN_PORT for listenPort, and --set KEY=VALUE override this file.
"""
_NO_EFFECT: Final = "no effect here"

# Their defaults depend on the machine: a value from this machine would be wrong on another.
_OF_THE_START: Final = frozenset({"brokerIP1", "brokerIP2", "namesrvAddr", "storePathRootDir"})


def sample(defaults: Mapping[str, str]) -> str:
    """The text of the file; `defaults` replace the defaults of a broker."""
    parts = [_HEAD]
    for title, kind in (("The broker", BrokerSettings), ("The store", StoreSettings)):
        parts.append(f"\n# ---------------------------------------- {title}\n")
        parts += _entries(setting_fields(kind), defaults)
    return "".join(parts)


def _entries(fields: Iterable[SettingField], defaults: Mapping[str, str]) -> Iterator[str]:
    for each in fields:
        if _NO_EFFECT not in each.about and each.key not in _OF_THE_START:
            unit = f", in {each.unit}" if each.unit else ""
            value = defaults.get(each.key, _text(each.default))
            yield f"\n# {each.about}{unit}: {each.allowed}\n#{each.key}={value}\n"


def _text(value: SettingValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
