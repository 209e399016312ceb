"""Defines quotas, as quotas.json and the response to GANTRY_LIST_QUOTAS have them.

    {"quotas":[
      {"kind":"user","name":"*","produceBytesPerSecond":10485760,"requestsPerSecond":2000},
      {"kind":"topic","name":"Orders","storageBytes":"50GiB"},
      {"kind":"address","name":"10.2.*","requestsPerSecond":500}],
     "use":[{"kind":"user","name":"billing","limit":"requestsPerSecond","allowed":2000,
             "used":1873,"delayMillis":0}]}

A name is exact, a prefix that ends in `*`, or `*` alone, which matches everything of its kind. Each
limit comes from the most specific quota that has it: exact before prefix, a longer prefix before a
shorter one. A quota with `*` limits each user, topic, group or address separately, not all of them
together. `use` occurs only in responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from gantrymq.base.bounds import LONG_MAX
from gantrymq.base.errors import RemoteError
from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    list_of,
    long_field,
    long_of,
    object_of,
    required_text_field,
)

# A limit with this value disables the limits of less specific quotas.
UNLIMITED: Final = -1

# Each quota costs about 400 bytes and a lookup of each prefix length. No administrator can review
# more quotas.
QUOTAS_MAX: Final = 2_000

# The longest name in RocketMQ: that of a group, or of a retry topic.
NAME_CHARACTERS_MAX: Final = 255

_UNITS: Final[Mapping[str, int]] = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class QuotaKind(StrEnum):
    """What a quota applies to."""

    USER = "user"
    """An account: its access key or user name."""
    TOPIC = "topic"
    GROUP = "group"
    """A consumer group."""
    ADDRESS = "address"
    """The IP address of a client."""


class QuotaLimit(StrEnum):
    """What a quota limits: the names of the properties in JSON."""

    PRODUCE_BYTES = "produceBytesPerSecond"
    CONSUME_BYTES = "consumeBytesPerSecond"
    REQUESTS = "requestsPerSecond"
    STORAGE_BYTES = "storageBytes"


LIMITS_BY_KIND: Final[Mapping[QuotaKind, frozenset[QuotaLimit]]] = {
    QuotaKind.USER: frozenset(QuotaLimit) - {QuotaLimit.STORAGE_BYTES},
    QuotaKind.TOPIC: frozenset(QuotaLimit),
    QuotaKind.GROUP: frozenset({QuotaLimit.CONSUME_BYTES, QuotaLimit.REQUESTS}),
    QuotaKind.ADDRESS: frozenset(QuotaLimit) - {QuotaLimit.STORAGE_BYTES},
}


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of one name; a limit that it does not have is absent."""

    kind: QuotaKind
    name: str
    limits: Mapping[QuotaLimit, int]

    @classmethod
    def from_json(cls, value: Json) -> Quota:
        """Parse a quota; RemoteError says what is wrong with it."""
        bean = object_of(value, "quota")
        kind = kind_of(required_text_field(bean, "kind"))
        name = checked_name(required_text_field(bean, "name"))
        limits = {
            limit: amount_of(bean[limit.value], limit)
            for limit in QuotaLimit
            if bean.get(limit.value) is not None
        }
        unknown = [key for key in bean if key not in _PROPERTIES]
        if unknown:
            known = ", ".join(QuotaLimit)
            raise RemoteError(
                f"the quota of {kind} {name} has the property {str(unknown[0])[:100]!r}; it may"
                f" have kind, name, {known}"
            )
        return checked(cls(kind, name, limits))

    def to_json(self) -> JsonObject:
        bean: JsonObject = {"kind": self.kind.value, "name": self.name}
        bean.update(
            (limit.value, self.limits[limit]) for limit in QuotaLimit if limit in self.limits
        )
        return bean


_PROPERTIES: Final = frozenset({"kind", "name", *QuotaLimit})


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """How much of a limit one user, topic, group or address uses now."""

    kind: QuotaKind
    name: str
    limit: QuotaLimit
    allowed: int
    used: int
    """The use per second over the last seconds; for storage, the bytes of the topic's messages."""
    delay_ms: int
    """How long the next request waits; 0 for storage."""

    @classmethod
    def from_json(cls, value: Json) -> QuotaUse:
        bean = object_of(value, "use")
        return cls(
            kind_of(required_text_field(bean, "kind")),
            required_text_field(bean, "name"),
            limit_of(required_text_field(bean, "limit")),
            long_field(bean, "allowed"),
            long_field(bean, "used"),
            long_field(bean, "delayMillis"),
        )

    def to_json(self) -> JsonObject:
        return {
            "kind": self.kind.value,
            "name": self.name,
            "limit": self.limit.value,
            "allowed": self.allowed,
            "used": self.used,
            "delayMillis": self.delay_ms,
        }


@dataclass(frozen=True, slots=True)
class QuotaTableBody:
    """All quotas of a broker; responses also have the heaviest users of those limits."""

    quotas: Sequence[Quota] = ()
    use: Sequence[QuotaUse] = ()

    @classmethod
    def from_json(cls, value: Json) -> QuotaTableBody:
        """Parse the table; RemoteError says what is wrong with it."""
        bean = object_of(value, "quotas.json")
        quotas = [Quota.from_json(each) for each in list_of(bean.get("quotas"), "quotas")]
        check_table(quotas)
        return cls(quotas, [QuotaUse.from_json(each) for each in list_of(bean.get("use"), "use")])

    def to_json(self) -> JsonObject:
        return {
            "quotas": [quota.to_json() for quota in self.quotas],
            "use": [each.to_json() for each in self.use],
        }


def kind_of(text: str) -> QuotaKind:
    """Parse a kind; RemoteError lists the valid kinds."""
    try:
        return QuotaKind(text)
    except ValueError:
        kinds = ", ".join(QuotaKind)
        raise RemoteError(
            f"a quota cannot be of kind {text[:100]!r}; it is one of {kinds}"
        ) from None


def limit_of(text: str) -> QuotaLimit:
    """Parse a limit's name; RemoteError lists the valid names."""
    try:
        return QuotaLimit(text)
    except ValueError:
        limits = ", ".join(QuotaLimit)
        raise RemoteError(f"there is no limit {text[:100]!r}; it is one of {limits}") from None


def checked_name(name: str) -> str:
    """The name of a quota; RemoteError if it is invalid."""
    is_one = 0 < len(name) <= NAME_CHARACTERS_MAX and name.isprintable() and " " not in name
    if is_one and "*" not in name[:-1]:
        return name
    raise RemoteError(
        f"{name[:100]!r} cannot be the name of a quota: it has 1 to {NAME_CHARACTERS_MAX}"
        " characters without blanks, and a * at its end alone, which makes it a prefix"
    )


def amount_of(value: Json, limit: QuotaLimit) -> int:
    """Parse a limit: a number, or text with a unit such as `10MiB`; RemoteError if invalid."""
    if isinstance(value, str):
        text = value.strip()
        unit = text[-3:]
        if unit in _UNITS and limit is not QuotaLimit.REQUESTS:
            return _in_bounds(long_of(text[:-3].strip(), limit.value) * _UNITS[unit], limit)
        return _in_bounds(long_of(text, limit.value), limit)
    return _in_bounds(long_of(value, limit.value), limit)


def _in_bounds(amount: int, limit: QuotaLimit) -> int:
    if amount == UNLIMITED or 0 < amount <= LONG_MAX:
        return amount
    raise RemoteError(
        f"{limit.value} is {amount}: it has to be at least 1, or {UNLIMITED} for no limit. To send"
        " or consume nothing at all is a matter of permissions, not of quotas"
    )


def checked(quota: Quota) -> Quota:
    """The quota; RemoteError if its kind cannot have one of its limits."""
    wrong = [limit for limit in quota.limits if limit not in LIMITS_BY_KIND[quota.kind]]
    if wrong:
        allowed = ", ".join(limit for limit in QuotaLimit if limit in LIMITS_BY_KIND[quota.kind])
        raise RemoteError(
            f"a quota of kind {quota.kind} cannot have {wrong[0].value}; it can have {allowed}"
        )
    if not quota.limits:
        raise RemoteError(f"the quota of {quota.kind} {quota.name} has no limit; give it one")
    return quota


def check_table(quotas: Sequence[Quota]) -> None:
    """Raise RemoteError if these cannot be the quotas of one broker."""
    if len(quotas) > QUOTAS_MAX:
        raise RemoteError(
            f"{len(quotas)} quotas are more than the {QUOTAS_MAX} that a broker takes; use"
            " prefixes, name*, for names with the same limits"
        )
    twice = _first_repeated((quota.kind, quota.name) for quota in quotas)
    if twice is not None:
        raise RemoteError(f"there are two quotas of {twice[0]} {twice[1]}; make them one")


def _first_repeated(keys: Iterable[tuple[QuotaKind, str]]) -> tuple[QuotaKind, str] | None:
    seen: set[tuple[QuotaKind, str]] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return None
