"""Hides secrets in a report, and replaces names that identify its owner.

A setting is secret if its key says so; its value becomes `***`. Names of topics, groups, clusters
and brokers, and IPv4 addresses, become pseudonyms. A name has the same pseudonym everywhere, so a
reader can still follow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, final

from gantrymq.wire.jsonvalue import Json, JsonObject

HIDDEN: Final = "***"

_SECRET: Final = re.compile(r"secret|password|passwd|token|credential|access_?key", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
# RocketMQ's own names identify no owner, and a reader needs them to understand the rest.
_PUBLIC: Final = re.compile(
    r"RMQ_SYS_|rmq_sys_|SCHEDULE_|TBW102|SELF_TEST|CID_|DefaultCluster|TRANS_"
)
_SHORTEST: Final = 3
"""Shorter names are not replaced, because they occur in ordinary words."""


def without_secrets(settings: Mapping[str, str]) -> JsonObject:
    """The settings, with the values of secret ones hidden."""
    return {
        key: HIDDEN if value and _SECRET.search(key) else value
        for key, value in sorted(settings.items())
    }


@final
class Pseudonyms:
    """Replaces names and IPv4 addresses by pseudonyms. `names` maps each kind, such as `topic`, to
    its names."""

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        self._instead: dict[str, str] = {}
        for kind, of_kind in names.items():
            hidden = [each for each in sorted(set(of_kind)) if _is_private(each)]
            for number, name in enumerate(hidden, start=1):
                self._instead.setdefault(name, f"{kind}-{number}")
        # Longer names come first. Otherwise a name that begins with a shorter one keeps its end.
        longest_first = sorted(self._instead, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._hosts: dict[str, str] = {}

    def applied_to(self, value: Json) -> Json:
        """The value with all names replaced, also in keys."""
        if isinstance(value, str):
            return self._replaced(value)
        if isinstance(value, dict):
            return {
                self._replaced(key) if isinstance(key, str) else key: self.applied_to(each)
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self.applied_to(each) for each in value]
        return value

    def _replaced(self, text: str) -> str:
        text = self._pattern.sub(lambda found: self._instead[found.group()], text)
        return _ADDRESS.sub(lambda found: self._host(found.group()), text)

    def _host(self, address: str) -> str:
        return self._hosts.setdefault(address, f"host-{len(self._hosts) + 1}")


def _is_private(name: str) -> bool:
    return len(name) >= _SHORTEST and not _PUBLIC.match(name)
