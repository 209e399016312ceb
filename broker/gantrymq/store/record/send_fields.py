"""Holds the fields of a send request, read from either header encoding without decoding a command.

    d defaultTopicQueueNums  e queueId  f sysFlag  h flag  j reconsumeTimes  l maxReconsumeTimes
    b topic  i properties  g bornTimestamp  m batch; a and c must be present, others are ignored

Fields are identified by their letters, whichever names the request uses. If a strict decoder might
refuse a value or read it differently, `take` returns False, and the request goes to the general
path. Invariant: if all fields are taken and `is_complete`, SendMessageRequest and
SendMessageV2Request decode the same values.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from gantrymq.base.bounds import INT_MAX, INT_MIN

SEND_MESSAGE: Final = 10
SEND_MESSAGE_V2: Final = 310
SEND_BATCH_MESSAGE: Final = 320

# a to h are required.
_REQUIRED: Final = 255
# A request that a member forwards has a foreign born host: only the general path handles that.
BORN_HOST: Final = "gantryBornHost"
_BORN_HOST: Final = BORN_HOST.encode()
_RELAYED: Final = 1000
# Only the general path handles producer sessions too.
SESSION: Final = "gantrySession"
_ODD_NAMES: Final = frozenset({_BORN_HOST, SESSION.encode()})

_LONG_NAMES: Final = {
    b"producerGroup": 97,
    b"topic": 98,
    b"defaultTopic": 99,
    b"defaultTopicQueueNums": 100,
    b"queueId": 101,
    b"sysFlag": 102,
    b"bornTimestamp": 103,
    b"flag": 104,
    b"properties": 105,
    b"reconsumeTimes": 106,
    b"unitMode": 107,
    b"maxReconsumeTimes": 108,
    b"batch": 109,
    b"bname": 110,
    _BORN_HOST: _RELAYED,
    SESSION.encode(): _RELAYED,
}
# What `_integer` returns for anything but an integer: it has more than 18 digits, and is less than
# 2**62, because mypyc makes larger constants objects.
_ODD: Final = 1152921504606846976


@final
class SendFields:
    """The fields of one header; reused for one header after the other, with `clear` in between."""

    __slots__ = (
        "_seen",
        "born_timestamp_ms",
        "code",
        "command_flag",
        "flag",
        "is_batch",
        "opaque",
        "properties",
        "queue_id",
        "reconsume_times",
        "sys_flag",
        "topic",
    )

    def __init__(self) -> None:
        self.code: i64 = 0
        self.opaque: i64 = 0
        self.command_flag: i64 = 0
        self.topic: bytes = b""
        self.properties: bytes = b""
        self.queue_id: i64 = 0
        self.sys_flag: i64 = 0
        self.born_timestamp_ms: i64 = 0
        self.flag: i64 = 0
        self.is_batch: bool = False
        self.reconsume_times: i64 = 0
        self._seen: i64 = 0

    def clear(self) -> None:
        """Forget the previous header."""
        self.code = self.opaque = self.command_flag = 0
        self.properties = b""
        self.reconsume_times = 0
        self.is_batch = False
        self._seen = 0

    @property
    def is_send(self) -> bool:
        """Whether the code is that of a message or a batch; `is_batch` says which."""
        code = self.code
        return code == SEND_MESSAGE_V2 or code == SEND_MESSAGE or code == SEND_BATCH_MESSAGE  # noqa: PLR1714

    @property
    def is_complete(self) -> bool:
        """Whether every required field was taken."""
        return (self._seen & _REQUIRED) == _REQUIRED

    def take(self, data: bytes, name_at: i64, name_end: i64, at: i64, end: i64) -> bool:
        """Take the field named data[name_at:name_end]; False if its value data[at:end] is
        unusual."""
        return self.take_value(self.letter(data, name_at, name_end), data, at, end)

    def letter(self, data: bytes, at: i64, end: i64) -> i64:
        """The letter of a field's name; 0 if no send request has such a field."""
        if self.code == SEND_MESSAGE:
            return _LONG_NAMES.get(data[at:end], 0)
        if end - at == 1:
            return i64(data[at])
        return _RELAYED if data[at:end] in _ODD_NAMES else 0

    def take_value(self, letter: i64, data: bytes, at: i64, end: i64) -> bool:
        number: i64 = 0
        if letter == 98:
            self.topic = data[at:end]
        elif letter == 105:
            self.properties = data[at:end]
        elif letter == 109:
            word = data[at:end]
            self.is_batch = word == b"true"
            return self.is_batch or word == b"false"
        elif letter == 103:
            number = _integer(data, at, end, 18)
            self.born_timestamp_ms = number
        elif 100 <= letter <= 108 and letter != 107:
            number = _integer(data, at, end, 10)
            if not INT_MIN <= number <= INT_MAX:
                return False
            self._take_int(letter, number)
        if 97 <= letter <= 104:
            self._seen |= i64(1) << (letter - 97)
        return number != _ODD and letter != _RELAYED

    def _take_int(self, letter: i64, number: i64) -> None:
        if letter == 101:
            self.queue_id = number
        elif letter == 102:
            self.sys_flag = number
        elif letter == 104:
            self.flag = number
        elif letter == 106:
            self.reconsume_times = number


def _integer(data: bytes, at: i64, end: i64, digits_max: i64) -> i64:
    """The integer in data[at:end]; _ODD if it is anything else."""
    negative = at < end and data[at] == 0x2D
    first = at + 1 if negative else at
    if first >= end or end - first > digits_max:
        return _ODD
    number: i64 = 0
    position = first
    while position < end:
        digit = i64(data[position]) - 0x30
        if digit < 0 or digit > 9:
            return _ODD
        number = number * 10 + digit
        position += 1
    return -number if negative else number
