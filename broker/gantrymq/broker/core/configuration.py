"""The broker's settings while it runs: which of them may change, and the change itself.

    ask(values) -> Change or Refusal     checked as a whole: all of it or nothing
    content()                            what the file must hold now: every key ever changed so,
                                         with the changes that are on their way there
    commit(change), drop(change)         it is in the file; it could not be written

Invariant: settings count from the moment the file has them, in the order in which they were asked.

An allow-list, for requests come from anybody who reaches the port: a key changes at run time only
if it is in BROKER_AT_ONCE or STORE_AT_ONCE. Those are read where they are used, from
`State.settings` and `Store.settings`, or handed on by `Store.change`, so that a change counts from
the next request or round. All others are read once, when the broker starts, and are refused with a
word on where to change them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeVar, final

from gantrymq.base.errors import ConfigurationError, RemoteError
from gantrymq.base.properties import decode_properties, format_properties, parse_properties
from gantrymq.base.settings import (
    Layer,
    SettingField,
    Source,
    bind,
    parse_setting,
    setting_fields,
    settings_to_text,
)
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.store.delete_hours import parse_hours
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.codes import ResponseCode

BROKER_AT_ONCE: Final = frozenset(
    {
        "auto_create_subscription_group",
        "auto_create_topic_enable",
        "broker_permission",
        "channel_expired_timeout",
        "compressed_register",
        "enable_property_filter",
        "fetch_namesrv_addr_by_address_server",
        "filter_support_retry",
        "flush_consumer_offset_interval",
        "flush_delay_offset_interval",
        "long_polling_enable",
        "max_queues_of_topics",
        "metrics_queue_lag_enable",
        "notify_consumer_ids_changed_enable",
        "recall_message_enable",
        "region_id",
        "register_broker_timeout_mills",
        "register_name_server_period",
        "reject_pull_consumer_enable",
        "reject_transaction_message",
        "short_polling_time_mills",
        "slave_read_enable",
        "start_accept_send_request_time_stamp",
        "store_reply_message_enable",
        "timer_max_delay_sec",
        "timer_wheel_enable",
        "trace_on",
        "transaction_check_interval",
        "transaction_check_max",
        "transaction_time_out",
        "use_server_side_reset_offset",
        "validate_system_topic_when_update_topic",
        "wait_time_mills_in_send_queue",
    }
)
STORE_AT_ONCE: Final = frozenset(
    {
        "access_message_in_memory_max_ratio",
        "clean_file_forcibly_enable",
        "default_query_max_num",
        "delete_commit_log_files_interval",
        "delete_consume_queue_files_interval",
        "delete_file_batch_max",
        "delete_when",
        "disk_max_used_space_ratio",
        "disk_space_clean_forcibly_ratio",
        "disk_space_warning_level_ratio",
        "file_reserved_time",
        "max_message_size",
        "max_msgs_num_batch",
        "max_transfer_bytes_on_bulk_pull",
        "max_transfer_bytes_on_message_in_disk",
        "max_transfer_bytes_on_message_in_memory",
        "max_transfer_count_on_bulk_pull",
        "max_transfer_count_on_message_in_disk",
        "max_transfer_count_on_message_in_memory",
    }
)

# Whatever configBlackList says: they name files, or widen what may be changed.
ALWAYS_REFUSED: Final = frozenset({"configBlackList", "brokerConfigPath", "rocketmqHome"})

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


# What a text must be beyond what its field's type says: ConfigurationError tells.
_FORMS: Final[Mapping[str, Callable[[str], object]]] = {
    "delete_when": parse_hours,
    "region_id": check_region,
}


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
        "_fields",
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
        self._fields = {
            each.key: each
            for kind in (BrokerSettings, StoreSettings)
            for each in setting_fields(kind)
        }

    def texts(self) -> dict[str, str]:
        """Each key with its value as text, in the order of keys."""
        ours = {**settings_to_text(self.broker), **settings_to_text(self.store)}
        return dict(sorted({**self.unknown, **ours}.items()))

    def ask(self, values: Mapping[str, str]) -> Change | Refusal:
        """What would become of these values by key."""
        black = {key.strip() for key in self.broker.config_black_list.split(";")}
        if (black | ALWAYS_REFUSED).intersection(values):
            return Refusal(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
        if len(self._waiting) >= WAITING_MAX:
            return Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"[REJECTREQUEST]{len(self._waiting)} changes wait for the disk; try again later",
            )
        trimmed = {key: value.strip() for key, value in values.items()}
        faults = [fault for key in trimmed if (fault := self._fault(key, trimmed[key]))]
        if faults:
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
            self._saved = parse_properties(decode_properties(content))
        except ConfigurationError as error:
            raise RemoteError(str(error)) from error

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

    def _fault(self, key: str, value: str) -> str | None:
        """Why this key cannot get this value now."""
        known = self._fields.get(key)
        if known is None:
            return f"{key} is not a setting known here{self._hint(key)}"
        if not is_changeable(known):
            return (
                f"{key} is read when the broker starts: change it in its configuration file"
                " (-c FILE) and restart"
            )
        try:
            parse_setting(known, value)
            if known.name in _FORMS:
                _FORMS[known.name](value)
        except ValueError:
            return f"{key}={value}: must be {known.allowed}"
        except ConfigurationError as error:
            return str(error)
        return None

    def _hint(self, key: str) -> str:
        folded = {known.lower(): known for known in self._fields}
        near = get_close_matches(key.lower(), folded, n=1, cutoff=0.8)
        return f"; did you mean {folded[near[0]]}?" if near else ""


def is_changeable(known: SettingField) -> bool:
    """Whether it counts at once when it changes; else from the next start."""
    return known.name in BROKER_AT_ONCE or known.name in STORE_AT_ONCE


def _with(settings: S, values: Mapping[str, str]) -> S:
    """With other values for those keys that it has."""
    texts = settings_to_text(settings)
    texts.update((key, value) for key, value in values.items() if key in texts)
    return bind(type(settings), [Layer(Source.SAVED, texts)]).settings
