"""Decides which settings a request may change, and which saved changes are used at a start.

This is an allow-list, because requests come from any client that reaches the port: a key may change
only if its declaration says so (`Changes.AT_ONCE`), and only to a value that the declaration
allows. So no accepted change can stop the next start of the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, final

from gantrymq.base.configuration.settings import (
    HIDDEN,
    Changes,
    Layer,
    SettingField,
    parse_setting,
    setting_fields,
)
from gantrymq.base.errors import ConfigurationError

Form = Callable[[str], object]
"""Checks a text beyond what its declaration says; raises ConfigurationError."""

# Settings of Java without a declaration here that attackers of RocketMQ change: they name files
# that the server writes, and programs that it runs.
_JAVA_FILES: Final = frozenset(
    {"brokerConfigPath", "configStorePath", "kvConfigPath", "rocketmqHome"}
)

# A key or value quoted in an error text; a request may have kilobytes of either.
_SHOWN_CHARACTERS_MAX: Final = 100


@final
class SettingsTable:
    """All settings of one server by key. The server's core owns it; it is immutable."""

    __slots__ = ("_fields", "_forms", "_server", "never")

    def __init__(
        self, server: str, kinds: Iterable[type[Any]], forms: Mapping[str, Form] | None = None
    ) -> None:
        """`server` is its name in error texts; `forms` are further checks by key."""
        self._server = server
        self._fields: dict[str, SettingField] = {
            each.key: each for kind in kinds for each in setting_fields(kind)
        }
        self._forms: dict[str, Form] = dict(forms or {})
        known = {key for key, each in self._fields.items() if each.changes is Changes.NEVER}
        self.never: frozenset[str] = _JAVA_FILES | known
        """Keys that no request may change, whatever configBlackList says."""

    def faults(self, values: Mapping[str, str]) -> Sequence[str]:
        """Why a request may not change these settings, one text a key; empty if it may."""
        found = (self.fault(key, value) for key, value in values.items())
        return [fault for fault in found if fault is not None]

    def fault(self, key: str, value: str) -> str | None:
        """Why a request may not set this key to this value; None if it may."""
        known = self._fields.get(key)
        if known is None:
            shown = key[:_SHOWN_CHARACTERS_MAX]
            return f"{shown} is not a setting known here{self._hint(shown)}"
        if known.changes is not Changes.AT_ONCE:
            return (
                f"{key} is read when the {self._server} starts: change it in its configuration file"
                " (-c FILE) and restart"
            )
        try:
            parse_setting(known, value)
            if key in self._forms:
                self._forms[key](value)
        except ValueError:
            shown = HIDDEN if known.is_secret else value[:_SHOWN_CHARACTERS_MAX]
            return f"{key}={shown}: must be {known.allowed}"
        except ConfigurationError as error:
            return str(error)
        return None

    def usable(self, saved: Layer) -> Layer:
        """Leave out saved changes with values that are not allowed, with a warning for each.

        An earlier version may have saved a value that this one rejects, and that must not stop the
        start.

        Settings that no request may change are kept whatever their values are. They were not saved
        by a request, so the owner of the file wrote them, and to leave out `aclEnable` or
        `bindAddress` would open the server.
        """
        kept: dict[str, str] = {}
        warnings: list[str] = []
        for key, value in saved.values.items():
            known = self._fields.get(key)
            is_live = known is not None and known.changes is Changes.AT_ONCE
            fault = self.fault(key, value.strip()) if is_live else None
            if fault is None:
                kept[key] = value
            else:
                warnings.append(
                    f"set aside a saved setting, and the {self._server} starts without it:"
                    f" {saved.where(key)}: {fault}"
                )
        return replace(saved, values=kept, warnings=(*saved.warnings, *warnings))

    def _hint(self, key: str) -> str:
        folded = {known.lower(): known for known in self._fields}
        near = get_close_matches(key.lower(), folded, n=1, cutoff=0.8)
        return f"; did you mean {folded[near[0]]}?" if near else ""
