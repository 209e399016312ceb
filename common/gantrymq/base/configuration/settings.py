"""Binds RocketMQ's configuration keys to a frozen dataclass of settings.

A field's key is its name in camelCase (`listen_port` is `listenPort`), or that of
`setting(key=...)`. Its environment variable is GANTRY_ and its name in capitals
(GANTRY_LISTEN_PORT). Values come in layers; later layers override earlier ones: defaults < file <
saved at run time < environment < flags.

Unlike Java this module is strict: values are trimmed and must be valid for the field's type. All
faults are reported at once, each with key, value, source and the allowed values. Like Java it
accepts unknown keys, because files are shared with Java brokers: they are kept, with a warning.

Each declaration also says whether a request may change the setting while the server runs
(`Changes`; setting_changes.py decides), and whether its value is a secret that is never shown.

This module reads no file, environment or command line: callers pass their contents.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Generic, TypeAlias, TypeVar, final, get_type_hints

from gantrymq.base.bounds import INT_MAX, INT_MIN
from gantrymq.base.camelcase import camel_case
from gantrymq.base.configuration.properties import format_properties, line_numbers, parse_properties
from gantrymq.base.errors import ConfigurationError, LocalError

SettingValue: TypeAlias = str | int | bool
S = TypeVar("S")


ENVIRONMENT_PREFIX: Final = "GANTRY_"

# Shown instead of a secret.
HIDDEN: Final = "***"

# A key with one of these words counts as a secret if it has no declaration: files of Java brokers
# hold passwords and accounts under keys that Gantry does not have.
_SECRET_WORDS: Final = re.compile(
    r"(?i)password|passwd|secret|credential|token|apikey|authenticationuser"
)

_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")

# Kubernetes and Docker set such variables for other services; no setting has such a value.
_LINK_SUFFIX: Final = "_PORT"
_SERVICE_LINK: Final = re.compile(r"(?:tcp|udp|sctp)://\S+:[0-9]{1,5}")


class Changes(StrEnum):
    """When a changed setting takes effect, and how it may be changed."""

    AT_ONCE = "at once"
    """An administrator may change it by a request while the server runs."""
    AT_START = "at start"
    """The server reads it when it starts: from its file, the environment and flags."""
    NEVER = "never by request"
    """As AT_START. It protects the server or names its files, so a request to change it is refused
    with the text of Java's black list."""


class Source(StrEnum):
    """Where a value came from, weakest first."""

    DEFAULT = "default"
    FILE = "file"
    SAVED = "saved at run time"
    ENVIRONMENT = "environment"
    FLAG = "flag"


@final
@dataclass(frozen=True, slots=True)
class Layer:
    """Values by key from one place.

    `place` names it in messages (for example by path); `lines` has the line number of each key.
    """

    source: Source
    values: Mapping[str, str]
    place: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """Entries of the place that are not values and were left out."""

    def where(self, key: str) -> str:
        """The source and place of one key, as text."""
        line = self.lines.get(key)
        at = "" if line is None else f", line {line}"
        return f"{self.source.value} {self.place}".rstrip() + at


@final
@dataclass(frozen=True, slots=True)
class SettingField:
    """The declaration of one setting: enough to parse it and to document it."""

    name: str
    key: str
    variable: str
    kind: type[SettingValue]
    default: SettingValue
    about: str
    unit: str
    lowest: int
    highest: int
    changes: Changes
    is_secret: bool

    @property
    def allowed(self) -> str:
        """The allowed values, as text."""
        if self.kind is bool:
            return "true or false"
        if self.kind is int:
            return f"a whole number from {self.lowest} to {self.highest}"
        if issubclass(self.kind, StrEnum):
            return "one of " + ", ".join(member.value for member in self.kind)
        return "any text"


@final
@dataclass(frozen=True, slots=True)
class Bound(Generic[S]):
    """Settings with the source of each, the keys that are unknown, and warnings."""

    settings: S
    sources: Mapping[str, Layer]
    unknown: Mapping[str, str]
    warnings: tuple[str, ...]

    def source(self, key: str) -> Source:
        """The source of this key's value."""
        layer = self.sources.get(key)
        return Source.DEFAULT if layer is None else layer.source

    def refusal(self, key: str, what: str) -> ConfigurationError:
        """The error for a value that has the right type but cannot be used."""
        known = next(each for each in setting_fields(type(self.settings)) if each.key == key)
        layer = self.sources.get(key, Layer(Source.DEFAULT, {}))
        value = HIDDEN if known.is_secret else _text(getattr(self.settings, known.name))
        return ConfigurationError(f"{key}={value} ({_origin(known, layer)}): {what}")


# Any: like dataclasses.field, the result stands for a default of the field's type.
def setting(
    default: SettingValue,
    about: str,
    *,
    unit: str = "",
    key: str = "",
    lowest: int = INT_MIN,
    highest: int = INT_MAX,
    changes: Changes = Changes.AT_START,
    secret: bool = False,
) -> Any:
    """Declare a field: default, description, unit, bounds, when a change takes effect, and whether
    its value is a secret."""
    facts = {
        "about": about,
        "unit": unit,
        "key": key,
        "lowest": lowest,
        "highest": highest,
        "changes": changes,
        "secret": secret,
    }
    return field(default=default, metadata=facts)


# Any: as for setting().
def live_setting(
    default: SettingValue,
    about: str,
    *,
    unit: str = "",
    key: str = "",
    lowest: int = INT_MIN,
    highest: int = INT_MAX,
) -> Any:
    """Declare a field that an administrator may change while the server runs.

    Code that uses it reads the current value each time.
    """
    at_once = Changes.AT_ONCE
    return setting(
        default, about, unit=unit, key=key, lowest=lowest, highest=highest, changes=at_once
    )


def setting_fields(kind: type[Any]) -> tuple[SettingField, ...]:
    """The settings of a dataclass, in declaration order."""
    hints = get_type_hints(kind)
    defaults = kind()  # every setting has a default
    return tuple(
        SettingField(
            name=member.name,
            key=member.metadata.get("key") or camel_case(member.name),
            variable=ENVIRONMENT_PREFIX + member.name.upper(),
            kind=_supported(hints[member.name], member.name),
            default=getattr(defaults, member.name),
            about=member.metadata.get("about", ""),
            unit=member.metadata.get("unit", ""),
            lowest=member.metadata.get("lowest", INT_MIN),
            highest=member.metadata.get("highest", INT_MAX),
            changes=member.metadata.get("changes", Changes.AT_START),
            is_secret=member.metadata.get("secret", False),
        )
        for member in dataclasses.fields(kind)
    )


def file_layer(text: str, place: str, source: Source = Source.FILE) -> Layer:
    """The layer of a properties file."""
    try:
        return Layer(source, parse_properties(text), place, line_numbers(text))
    except ConfigurationError as error:
        raise ConfigurationError(f"{place}: {error}") from None


def environment_layer(kind: type[Any], environment: Mapping[str, str]) -> Layer:
    """The layer of environment variables for these settings; other variables are ignored.

    Service links are ignored with a warning: `GANTRY_METRICS_PORT=tcp://10.0.0.1:5557` describes a
    Service.
    """
    values: dict[str, str] = {}
    warnings: list[str] = []
    for each in setting_fields(kind):
        value = environment.get(each.variable)
        if value is None:
            continue
        if each.variable.endswith(_LINK_SUFFIX) and _SERVICE_LINK.fullmatch(value.strip()):
            warnings.append(_link_warning(each.variable, value))
        else:
            values[each.key] = value
    return Layer(Source.ENVIRONMENT, values, warnings=tuple(warnings))


def flag_layer(values: Mapping[str, str]) -> Layer:
    """The layer of command-line flags, by key."""
    return Layer(Source.FLAG, values)


def bind(kind: type[S], layers: Iterable[Layer]) -> Bound[S]:
    """Bind the layers, weakest first; ConfigurationError lists all faults."""
    fields = {each.key: each for each in setting_fields(kind)}
    values: dict[str, SettingValue] = {}
    sources: dict[str, Layer] = {}
    unknown: dict[str, str] = {}
    warnings: list[str] = []
    faults: list[str] = []
    for layer in layers:
        warnings += layer.warnings
        for key, text in layer.values.items():
            known = fields.get(key)
            if known is None:
                unknown[key] = text
                warnings.append(_unknown_warning(key, layer, fields))
                continue
            try:
                values[known.name] = parse_setting(known, text)
                sources[key] = layer
            except ValueError:
                shown = HIDDEN if known.is_secret else text
                faults.append(f"{key}={shown} ({_origin(known, layer)}): must be {known.allowed}")
    if faults:
        raise ConfigurationError("\n".join(faults))
    return Bound(kind(**values), sources, unknown, tuple(warnings))


def parse_setting(known: SettingField, text: str) -> SettingValue:
    """Parse a value; ValueError if it is not allowed."""
    text = text.strip()
    if known.kind is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
    elif known.kind is int:
        if _INTEGER.fullmatch(text) and known.lowest <= int(text) <= known.highest:
            return int(text)
    elif issubclass(known.kind, StrEnum):
        return known.kind(text)
    else:
        return text
    raise ValueError("not allowed")


def format_settings(settings: object) -> str:
    """All settings as `key=value` lines, as Java's -p and GET_..._CONFIG print them; secrets are
    hidden."""
    return format_properties(shown_settings(settings))


def shown_settings(settings: object) -> dict[str, str]:
    """Each key with its value as text, with secrets hidden."""
    secret = {each.key for each in setting_fields(type(settings)) if each.is_secret}
    return {
        key: HIDDEN if text and key in secret else text
        for key, text in settings_to_text(settings).items()
    }


def shown_unknown(values: Mapping[str, str]) -> dict[str, str]:
    """Values of undeclared keys as text, with suspected secrets hidden."""
    return {
        key: HIDDEN if text and _SECRET_WORDS.search(key) else text for key, text in values.items()
    }


def settings_to_text(settings: object) -> dict[str, str]:
    """Each key with its value as text, including secrets."""
    return {
        each.key: _text(getattr(settings, each.name)) for each in setting_fields(type(settings))
    }


def _text(value: SettingValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _supported(hint: object, name: str) -> type[SettingValue]:
    if isinstance(hint, type) and (hint in (str, int, bool) or issubclass(hint, StrEnum)):
        return hint
    raise LocalError(f"setting {name}: no text can be bound to {hint}")


def _origin(known: SettingField, layer: Layer) -> str:
    if layer.source is Source.ENVIRONMENT:
        return f"{layer.source.value} {known.variable}"
    return layer.where(known.key)


def _link_warning(variable: str, value: str) -> str:
    service = variable.removesuffix(_LINK_SUFFIX).replace("_", "-").lower()
    return (
        f"{variable}={value} is ignored: Kubernetes set it for a Service called {service}; set"
        " enableServiceLinks: false in the pod's spec"
    )


def _unknown_warning(key: str, layer: Layer, fields: Mapping[str, SettingField]) -> str:
    folded = {known.lower(): known for known in fields}
    near = difflib.get_close_matches(key.lower(), folded, n=1, cutoff=0.8)
    hint = f"; did you mean {folded[near[0]]}?" if near else ""
    return f"{key} ({layer.where(key)}) is not a setting known here and has no effect{hint}"
