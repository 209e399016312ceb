"""Binding a frozen dataclass of settings to RocketMQ's keys.

A field's key is its name in camelCase (`listen_port` is `listenPort`), or what `setting(key=...)`
says; its environment variable is GANTRY_ and its name in capitals (GANTRY_LISTEN_PORT). Values
come in layers, the later one wins: defaults < file < saved at run time < environment < flags.

Unlike Java we are strict: values are trimmed, then must be what the field's type allows; all that
is wrong is told at once, each with key, value, source and what is allowed. Like Java we accept keys
we do not know (files are shared with Java brokers): they are kept, and told as warnings.

Each declaration also says whether a request may change the setting while the server runs
(`Changes`; setting_changes.py decides), and whether its value is a secret that is never shown.

Nothing here reads a file, the environment or a command line: callers hand in what they hold.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Generic, TypeAlias, TypeVar, final, get_type_hints

from gantrymq.base.camelcase import camel_case
from gantrymq.base.errors import ConfigurationError, LocalError
from gantrymq.base.properties import format_properties, line_numbers, parse_properties

SettingValue: TypeAlias = str | int | bool
S = TypeVar("S")

INT_MAX: Final = 0x7FFFFFFF
LONG_MAX: Final = 0x7FFFFFFFFFFFFFFF

ENVIRONMENT_PREFIX: Final = "GANTRY_"

# Shown in place of a secret.
HIDDEN: Final = "***"

# A key with one of these words is taken for a secret where no declaration says what it is: the
# files of Java brokers hold passwords and accounts under keys that Gantry does not have.
_SECRET_WORDS: Final = re.compile(
    r"(?i)password|passwd|secret|credential|token|apikey|authenticationuser"
)

_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")

# What Kubernetes and Docker put into the environment for another service: no setting is that.
_LINK_SUFFIX: Final = "_PORT"
_SERVICE_LINK: Final = re.compile(r"(?:tcp|udp|sctp)://\S+:[0-9]{1,5}")


class Changes(StrEnum):
    """When a changed setting counts, and who may change it."""

    AT_ONCE = "at once"
    """An administrator may change it by a request while the server runs."""
    AT_START = "at start"
    """The server reads it when it starts: its file, the environment and flags change it."""
    NEVER = "never by request"
    """As AT_START; it protects the server or names its files, so a request that tries is refused
    in Java's words for its black list."""


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
    """Values by key from one place; `place` says which one (a path, say) in messages, and `lines`
    where in it each key stands."""

    source: Source
    values: Mapping[str, str]
    place: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What of the place is no value, and was left out."""

    def where(self, key: str) -> str:
        """The source and place of one key, in words."""
        line = self.lines.get(key)
        at = "" if line is None else f", line {line}"
        return f"{self.source.value} {self.place}".rstrip() + at


@final
@dataclass(frozen=True, slots=True)
class SettingField:
    """What is known of one setting: enough to parse it and to document it."""

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
        """What a value may be, in words."""
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
    """Settings, and the story of each: its source, what was not understood, what to warn of."""

    settings: S
    sources: Mapping[str, Layer]
    unknown: Mapping[str, str]
    warnings: tuple[str, ...]

    def source(self, key: str) -> Source:
        """Where the value of this key came from."""
        layer = self.sources.get(key)
        return Source.DEFAULT if layer is None else layer.source

    def refusal(self, key: str, what: str) -> ConfigurationError:
        """That a value cannot be used, though it is of the right kind."""
        known = next(each for each in setting_fields(type(self.settings)) if each.key == key)
        layer = self.sources.get(key, Layer(Source.DEFAULT, {}))
        value = HIDDEN if known.is_secret else _text(getattr(self.settings, known.name))
        return ConfigurationError(f"{key}={value} ({_origin(known, layer)}): {what}")


# Any: like dataclasses.field, the result stands for a default of the field's own type.
def setting(
    default: SettingValue,
    about: str,
    *,
    unit: str = "",
    key: str = "",
    lowest: int = -INT_MAX - 1,
    highest: int = INT_MAX,
    changes: Changes = Changes.AT_START,
    secret: bool = False,
) -> Any:
    """Declare a field: its default, a sentence about it, its unit, its bounds, when a change of it
    counts, and whether its value is a secret."""
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
    lowest: int = -INT_MAX - 1,
    highest: int = INT_MAX,
) -> Any:
    """Declare a field that an administrator may change while the server runs. The code that uses
    it reads it anew each time."""
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
            lowest=member.metadata.get("lowest", -INT_MAX - 1),
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
    """The layer of the variables that belong to these settings; all others are left alone, and so
    are service links: `GANTRY_METRICS_PORT=tcp://10.0.0.1:5557` tells of a Service."""
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
    """The layer of what was given on the command line, by key."""
    return Layer(Source.FLAG, values)


def bind(kind: type[S], layers: Iterable[Layer]) -> Bound[S]:
    """The settings these layers make, weakest layer first; ConfigurationError tells all faults."""
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
    """The value a text stands for; ValueError when it stands for none that is allowed."""
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
    """Each key with its value as text, as a client or a log may see it."""
    secret = {each.key for each in setting_fields(type(settings)) if each.is_secret}
    return {
        key: HIDDEN if text and key in secret else text
        for key, text in settings_to_text(settings).items()
    }


def shown_unknown(values: Mapping[str, str]) -> dict[str, str]:
    """Values of keys that no declaration knows, as a client or a log may see them."""
    return {
        key: HIDDEN if text and _SECRET_WORDS.search(key) else text for key, text in values.items()
    }


def settings_to_text(settings: object) -> dict[str, str]:
    """Each key with its value as text, secrets too."""
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
