"""The broker's settings while it runs: which of them may change, and the change itself.

    ask(values) -> Change or Refusal     checked as a whole: all of it or nothing
    content()                            what the file must hold now: every key ever changed so,
                                         with the changes that are on their way there
    commit(change), drop(change)         it is in the file; it could not be written

Invariant: settings count from the moment the file has them, in the order in which they were asked.

A key changes at run time only if its declaration says `live_setting`. Those are read where they are
used, from `State.settings` and `Store.settings`, or handed on by `Store.change`, so that a change
counts from the next request or round. All others are read once, when the broker starts, and are
refused with a word on where to change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar, final

from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.base.properties import decode_properties, format_properties, parse_properties
from gantrymq.base.setting_changes import SettingsTable
from gantrymq.base.settings import (
    Layer,
    Source,
    bind,
    settings_to_text,
    shown_settings,
    shown_unknown,
)
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.store.delete_hours import parse_hours
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.codes import ResponseCode

# Changes wait for one write each; more of them at a time is nobody's administration.
WAITING_MAX: Final = 100

# It is in each message's properties, whose separators are control characters, and in each answer.
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
"""The broker's settings and its store's, which stand in one file."""


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was changed."""

    code: ResponseCode
    text: str


@final
@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """Values by key that are allowed; compared by identity, for the same may be asked twice."""

    values: Mapping[str, str]


@final
class Configuration:
    """Of one broker."""

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
        """Keys of the file that nobody here knows: shown, for the file may be a Java broker's."""
        self.sources: Mapping[str, Source] = {}
        """Where the value of a key came from at the start, unless it is the default."""
        self.version = DataVersion(wall_ms)
        self._saved: dict[str, str] = {}
        self._waiting: list[Change] = []

    def texts(self) -> dict[str, str]:
        """Each key with its value as text, in the order of keys; secrets are hidden."""
        ours = {**shown_settings(self.broker), **shown_settings(self.store)}
        return dict(sorted({**shown_unknown(self.unknown), **ours}.items()))

    def ask(self, values: Mapping[str, str]) -> Change | Refusal:
        """What would become of these values by key."""
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
        """Keys that the file loses at the next start: something stronger has them too."""
        stronger = (Source.ENVIRONMENT, Source.FLAG)
        return [key for key in change.values if self.sources.get(key) in stronger]

    def content(self) -> bytes:
        values = dict(self._saved)
        for change in self._waiting:
            values.update(change.values)
        return format_properties(values).encode()

    def load(self, content: bytes) -> None:
        """What a start finds; the settings were made with it. RemoteError where it is no such
        file."""
        try:
            found = parse_properties(decode_properties(content))
        except ConfigurationError as error:
            raise RemoteError(str(error)) from error
        # What cannot be used was told when the settings were made; the next change removes it.
        self._saved = dict(SETTINGS.usable(Layer(Source.SAVED, found)).values)

    def commit(self, change: Change, wall_ms: int) -> None:
        """The file has it: it counts."""
        self._waiting.remove(change)
        self._saved.update(change.values)
        self.broker = _with(self.broker, change.values)
        self.store = _with(self.store, change.values)
        self.version = self.version.next(wall_ms)

    def drop(self, change: Change) -> None:
        """The file could not be written: it never was."""
        self._waiting.remove(change)


def _with(settings: S, values: Mapping[str, str]) -> S:
    """With other values for those keys that it has."""
    texts = settings_to_text(settings)
    texts.update((key, value) for key, value in values.items() if key in texts)
    return bind(type(settings), [Layer(Source.SAVED, texts)]).settings
