"""Holds the broker's settings at run time, and changes those that may change.

    ask(values) -> Change or Refusal     checks a change as a whole: all values apply, or none
    content()                            the content that the file must have: every key ever changed
                                         at run time, including changes not written yet
    commit(change), drop(change)         the file was written; the file could not be written

Invariant: settings apply once the file has them, in the order in which they were requested.

A key can change at run time only if it is declared as a `live_setting`. Live settings are read
where they are used, from `State.settings` and `Store.settings`, or passed on by `Store.change`, so
a change applies from the next request or round. All other settings are read once when the broker
starts; changing them is refused with a text that says where to change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar, final

from gantrymq.base.configuration.properties import (
    decode_properties,
    format_properties,
    parse_properties,
)
from gantrymq.base.configuration.setting_changes import SettingsTable
from gantrymq.base.configuration.settings import (
    Layer,
    Source,
    bind,
    settings_to_text,
    shown_settings,
    shown_unknown,
)
from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.store.retention.delete_hours import parse_hours
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.codes import ResponseCode

# Limit of the changes that wait for a write of the file. Each waits for one write.
WAITING_MAX: Final = 100

# The region is in the properties of each message, where control characters are separators, and in
# each answer.
REGION_CHARACTERS_MAX: Final = 127
REGION_FORM: Final = f"must be at most {REGION_CHARACTERS_MAX} printable characters"

S = TypeVar("S")


def check_region(text: str) -> None:
    if len(text) > REGION_CHARACTERS_MAX or not text.isprintable():
        shown = text[:REGION_CHARACTERS_MAX]
        raise ConfigurationError(f"regionId={shown!r} ({len(text)} characters): {REGION_FORM}")


SETTINGS: Final = SettingsTable(
    "broker",
    (BrokerSettings, StoreSettings),
    {"deleteWhen": parse_hours, "regionId": check_region},
)
"""The settings of the broker and of its store, which share one file."""


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was changed."""

    code: ResponseCode
    text: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A checked change: values by key. Compared by identity, because two requests may ask for the
    same change."""

    values: Mapping[str, str]


@final
class Configuration:
    """The settings of one broker, and the changes to them that are not in the file yet."""

    __slots__ = (
        "_saved",
        "_waiting",
        "broker",
        "sources",
        "store",
        "unknown",
        "version",
    )

    def __init__(self, broker: BrokerSettings, store: StoreSettings, wall_ms: int) -> None:
        self.broker = broker
        self.store = store
        self.unknown: Mapping[str, str] = {}
        """Unknown keys of the file. They are shown, because the file may be a RocketMQ broker's."""
        self.sources: Mapping[str, Source] = {}
        """The source of a key's value at the start, unless it is the default."""
        self.version = DataVersion(wall_ms)
        self._saved: dict[str, str] = {}
        self._waiting: list[Change] = []

    def texts(self) -> dict[str, str]:
        """Each key with its value as text, sorted by key; secrets are hidden."""
        ours = {**shown_settings(self.broker), **shown_settings(self.store)}
        return dict(sorted({**shown_unknown(self.unknown), **ours}.items()))

    def ask(self, values: Mapping[str, str]) -> Change | Refusal:
        """Check these values by key. Returns the change to write, or why it is refused."""
        black = {key.strip() for key in self.broker.config_black_list.split(";")}
        if (black | SETTINGS.never).intersection(values):
            return Refusal(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
        if len(self._waiting) >= WAITING_MAX:
            return Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"[REJECTREQUEST]{len(self._waiting)} changes wait for the disk; try again later",
            )
        trimmed = {key: value.strip() for key, value in values.items()}
        if faults := SETTINGS.faults(trimmed):
            return Refusal(ResponseCode.SYSTEM_ERROR, f"nothing was changed: {'; '.join(faults)}")
        change = Change(trimmed)
        self._waiting.append(change)
        return change

    def outranked(self, change: Change) -> list[str]:
        """Keys of the change that the environment or a flag sets too: these outrank the file at the
        next start."""
        stronger = (Source.ENVIRONMENT, Source.FLAG)
        return [key for key in change.values if self.sources.get(key) in stronger]

    def content(self) -> bytes:
        values = dict(self._saved)
        for change in self._waiting:
            values.update(change.values)
        return format_properties(values).encode()

    def load(self, content: bytes) -> None:
        """Load the content of the file at a start, with which the settings were made. RemoteError
        if it is not such a file."""
        try:
            found = parse_properties(decode_properties(content))
        except ConfigurationError as error:
            raise RemoteError(str(error)) from error
        # Values that cannot be used were reported when the settings were made. The next change
        # removes them from the file.
        self._saved = dict(SETTINGS.usable(Layer(Source.SAVED, found)).values)

    def commit(self, change: Change, wall_ms: int) -> None:
        """Apply a change that is in the file."""
        self._waiting.remove(change)
        self._saved.update(change.values)
        self.broker = _with(self.broker, change.values)
        self.store = _with(self.store, change.values)
        self.version = self.version.next(wall_ms)

    def drop(self, change: Change) -> None:
        """Give a change up, because the file could not be written."""
        self._waiting.remove(change)


def _with(settings: S, values: Mapping[str, str]) -> S:
    """The settings with these values, for the keys that they have."""
    texts = settings_to_text(settings)
    texts.update((key, value) for key, value in values.items() if key in texts)
    return bind(type(settings), [Layer(Source.SAVED, texts)]).settings
