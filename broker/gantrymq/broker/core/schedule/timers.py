"""Rewrites messages with a delivery time into the timer queue, and makes handles to recall them.

    TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS     set by producers; the first one counts
    TIMER_OUT_MS       the last full second before that time: due when this second has passed
    TIMER_DEL_UNIQKEY  topic + unique key: the message recalls the one of its own topic that is due
                       with it; Java allows the recall of any topic's message
    recall handle      base64 of "v1 <topic> <broker> <TIMER_OUT_MS + 1> <unique key>"

The queue is rmq_sys_wheel_timer, and the time may be up to timerMaxDelaySec ahead. A message whose
time has passed goes directly into its own queue. timer_service.py delivers the others.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.bounds import LONG_MAX
from gantrymq.broker.core.schedule.delays import level_of
from gantrymq.broker.core.schedule.message_restore import redirect
from gantrymq.broker.core.state import State
from gantrymq.wire import java_string
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.property_names import (
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
    UNIQ_KEY,
)
from gantrymq.wire.message.record import Record

TIMER_TOPIC: Final = b"rmq_sys_wheel_timer"
TOPIC: Final = TIMER_TOPIC.decode()

# About nine bytes each in memory: 90 MB.
TIMERS_MAX: Final = 10_000_000

_NUMBER_DIGITS_MAX: Final = 19  # of an int64
_SHOWN: Final = 200  # of a producer's value in an error text; a topic's name has 127 at most
_PREFIX: Final = b"TIMER_"
_RETRY: Final = "%RETRY%"
_VERSION: Final = "v1"
_HANDLE_PARTS: Final = 5

Refusal = tuple[int, str]


def rewrite(state: State, record: Record) -> Record | Refusal:
    """Rewrite a message with a delivery time into the timer queue; return it, or why it is
    refused."""
    if _PREFIX not in record.properties or not _is_timer(record):
        return record
    if not state.settings.timer_wheel_enable:
        return (
            ResponseCode.SYSTEM_ERROR,
            (
                "accurate timer message is not enabled, timerWheelEnable is false; set it to true, "
                "or use a delay level"
            ),
        )
    wall_ms = state.wall_ms
    deliver_ms = _deliver_ms(record, wall_ms)
    max_ms = state.settings.timer_max_delay_sec * 1000
    if deliver_ms is None or deliver_ms - wall_ms > max_ms:
        return _illegal(max_ms, deliver_ms, wall_ms)
    recalled = properties.get(record.properties, TIMER_DEL_UNIQKEY)
    if recalled is not None and not recalled.startswith(own := _keys_of(record.topic)):
        return _not_its_own(recalled, own)
    if deliver_ms <= wall_ms:
        return record if recalled is None else _illegal(max_ms, deliver_ms, wall_ms)
    if state.timers.count >= TIMERS_MAX:
        return (
            ResponseCode.SYSTEM_ERROR,
            (
                f"timer message is under flow control, max num limit is {TIMERS_MAX}, and as many "
                "wait; send it later, or to another broker"
            ),
        )
    out_ms = (deliver_ms - 1) // 1000 * 1000
    record.properties = properties.replace(record.properties, TIMER_OUT_MS, str(out_ms))
    return redirect(record, TIMER_TOPIC, 0)


def out_ms_of(record: Record) -> int | None:
    """The time in ms of the second in which it is due; None without one."""
    return _number(properties.get(record.properties, TIMER_OUT_MS))


def _is_timer(record: Record) -> bool:
    kind = sys_flag.transaction_type(record.sys_flag)
    if kind not in (sys_flag.TRANSACTION_NONE, sys_flag.TRANSACTION_COMMIT):
        return False
    names = properties.parse(record.properties).keys()
    if TIMER_OUT_MS in names or record.topic == TIMER_TOPIC or level_of(record) > 0:
        return False
    return not names.isdisjoint((TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS))


def _deliver_ms(record: Record, wall_ms: int) -> int | None:
    said = properties.parse(record.properties)
    for name, unit_ms in ((TIMER_DELAY_SEC, 1000), (TIMER_DELAY_MS, 1)):
        if name in said:
            delay = _number(said[name])
            return None if delay is None else wall_ms + delay * unit_ms
    return _number(said.get(TIMER_DELIVER_MS))


def _number(text: str | None) -> int | None:
    """Parse a long as Java does; None for an invalid one."""
    digits = "" if text is None else text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > _NUMBER_DIGITS_MAX:
        return None
    number = int(text or "")
    return number if -LONG_MAX <= number <= LONG_MAX else None


def _keys_of(topic: bytes) -> str:
    """The common prefix of the recall keys of this topic's messages."""
    return delete_key(java_string.utf8_text(topic), "")


def _not_its_own(recalled: str, own: str) -> Refusal:
    """A producer with access to one topic must not recall messages of another."""
    return (
        ResponseCode.MESSAGE_ILLEGAL,
        (
            f"timer message illegal, its TIMER_DEL_UNIQKEY {recalled[:_SHOWN]!r} recalls no "
            f"message of its own topic: it has to begin with {own}"
        ),
    )


def _illegal(max_ms: int, deliver_ms: int | None, wall_ms: int) -> Refusal:
    if deliver_ms is None:
        said = "TIMER_DELAY_SEC, TIMER_DELAY_MS or TIMER_DELIVER_MS is no number"
    else:
        said = f"it asks for {deliver_ms - wall_ms} ms from now; timerMaxDelaySec is the limit"
    return (
        ResponseCode.MESSAGE_ILLEGAL,
        (
            "timer message illegal, the delay time should not be bigger than the max delay "
            f"{max_ms}ms; or if set del msg, the delay time should be bigger than the current "
            f"time: {said}"
        ),
    )


# ---------------------------------------------------------------------- recall


@final
@dataclass(frozen=True, slots=True)
class RecallHandle:
    """The decoded form of a recall handle."""

    topic: str
    broker_name: str
    timestamp: str
    message_id: str

    def encode(self) -> str:
        parts = (_VERSION, self.topic, self.broker_name, self.timestamp, self.message_id)
        return base64.urlsafe_b64encode(java_string.utf8_bytes(" ".join(parts))).decode()

    @property
    def timestamp_ms(self) -> int:
        """The timestamp of the handle; -1 when it is not a number, as in Java."""
        number = _number(self.timestamp)
        return -1 if number is None else number

    @property
    def delete_key(self) -> str:
        return delete_key(self.topic, self.message_id)


def decode_handle(text: str) -> RecallHandle | None:
    """Decode a recall handle; None for an invalid one."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    parts = java_string.utf8_text(raw).split(" ")
    if len(parts) < _HANDLE_PARTS or parts[0] != _VERSION:
        return None
    return RecallHandle(*parts[1:_HANDLE_PARTS])


def recall_handle(state: State, record: Record) -> str | None:
    """The recall handle for the answer to a send; None unless the message went into the timer
    queue."""
    if record.topic != TIMER_TOPIC:
        return None
    topic = properties.get(record.properties, REAL_TOPIC) or ""
    message_id = properties.get(record.properties, UNIQ_KEY)
    out_ms = out_ms_of(record)
    if out_ms is None or message_id is None or topic.startswith(_RETRY):
        return None
    return RecallHandle(topic, state.identity.name, str(out_ms + 1), message_id).encode()


def delete_key(topic: str, message_id: str) -> str:
    """The key by which a recall names its message."""
    return f"{topic}+{message_id}"
