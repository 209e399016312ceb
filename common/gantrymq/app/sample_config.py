"""A commented configuration for a broker: every setting, what it does, and what it is if unsaid.

Invariant: all of it is commented out, so the file changes nothing until somebody edits it; and with
every `#` before a key taken away it still says what a standalone start does anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from gantrymq.base.configuration.settings import SettingField, SettingValue, setting_fields
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.store.settings import StoreSettings

_HEAD: Final = """\
# Settings of a broker: gantry standalone -c FILE, or gantry broker -c FILE.
# Keys and values are those of RocketMQ's broker.conf, which works here as it is. What is commented
# out is as it would be anyway. An environment variable GANTRY_<KEY> (GANTRY_LISTEN_PORT for
# listenPort) and --set KEY=VALUE win over this file.
"""
_NO_EFFECT: Final = "no effect here"

# Made of the place where a broker starts: what stood here would be somebody else's.
_OF_THE_START: Final = frozenset({"brokerIP1", "brokerIP2", "namesrvAddr", "storePathRootDir"})


def sample(defaults: Mapping[str, str]) -> str:
    """The file; `defaults` are those that differ from a broker's own."""
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
