"""Makes requests that no correct client sends: damaged requests of Java clients, for every code.

The names of header fields are recorded when handlers read them, so that they need no list. A
request is wrong in one place, in many, or nowhere: one that is wrong everywhere is refused early.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.processor.requests import REQUEST_CODES
from gantrymq.fakes.brokers.broker import START_MS, OpenedBroker
from gantrymq.wire import header, javajson
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.message import batch, offset_id, property_names
from gantrymq.wire.version import OWN_VERSION

TRAFFIC: Final = Path(__file__).parents[2] / "vectors" / "traffic-5.3.3.json"

TOPICS: Final = ("T", "U", "new", "%RETRY%G", "%DLQ%G", "TBW102", "DefaultCluster_REPLY_TOPIC")
BROKERS_TOPICS: Final = (
    "SCHEDULE_TOPIC_XXXX",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "rmq_sys_wheel_timer",
    "TRANS_CHECK_MAX_TIME_TOPIC",
)
GROUPS: Final = ("G", "H", "CID_RMQ_SYS_TRANS", "TOOLS_CONSUMER")
CLIENTS: Final = ("c1", "c2", "127.0.0.1@c1")
WORDS: Final = (*TOPICS, *BROKERS_TOPICS, *GROUPS, *CLIENTS, "broker-a", "TAG", "SQL92", "*")
NUMBERS: Final = (
    0, 1, -1, 2, 7, 127, 128, 255, 256, 32_767, 32_768, 65_536,
    2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, -(2**63), 10**19,
)  # fmt: skip
ODD_TEXTS: Final = (
    "", " ", "\0", "a\0b", "\ud800", "x\udfffy", "\x01", "\x02", "a\x01b\x02", "..", "../../x",
    "/", "%", "%RETRY%", "%DLQ%", "@", "a@b", "|", "\n", "é", "\U0001d4b3", "NaN", "1e9", "+1",
    "null", "0x10", "٣", "1_0", "²", "true", "TRUE", "x" * 127, "x" * 256, "x" * 40_000,
    "9" * 5_000,
    "a > 1 and b is not null", "((((((", "a = 'x' or " * 200 + "b = 1", "not " * 500 + "a", "||",
    "a || b", " || ".join(map(str, range(500))),
)  # fmt: skip
LISTS: Final = ("T;U", ";", ";;T", ",".join("G" * 500))
PROPERTIES: Final = (
    property_names.KEYS, property_names.TAGS, property_names.WAIT, property_names.DELAY,
    property_names.RETRY_TOPIC, property_names.REAL_TOPIC, property_names.REAL_QUEUE_ID,
    property_names.TRANSACTION_PREPARED, property_names.PRODUCER_GROUP, property_names.UNIQ_KEY,
    property_names.TRANSACTION_CHECK_TIMES, property_names.TRANSACTION_PREPARED_QUEUE_OFFSET,
    property_names.CHECK_IMMUNITY_TIME_IN_SECONDS, property_names.TIMER_DELAY_SEC,
    property_names.TIMER_DELAY_MS, property_names.TIMER_DELIVER_MS, property_names.TIMER_OUT_MS,
    property_names.TIMER_DEL_UNIQKEY, property_names.TIMER_ROLL_TIMES,
    property_names.REPLY_TO_CLIENT, property_names.POP_CK, property_names.ORIGIN_MESSAGE_ID,
    property_names.TRANSACTION_ID, "__CRC32#", "a", "b",
)  # fmt: skip
HOST: Final = b"\x7f\0\0\1\0\0\x2a\x9f"
OFFSET_ID_DIGITS: Final = 32
MESSAGES_KEPT: Final = 50
DEPTH: Final = 3_000
WIDTH: Final = 3_000


@dataclass(frozen=True, slots=True)
class Hostile:
    """One request. `mark` is in its body if the body is a message's."""

    code: int
    ext: dict[str, str]
    body: bytes
    is_oneway: bool
    version: int
    language: int
    mark: bytes


class Curious(dict[str, str]):
    """Header fields that have every name, and record the names that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def get(self, name: str, default: object = None) -> str:
        self.asked.add(name)  # decoders only use this method
        return "1"


@cache
def fields_asked() -> Mapping[int, frozenset[str]]:
    """The header fields that the handler of each code reads."""
    broker = OpenedBroker()
    asked = {}
    for code in REQUEST_CODES:
        curious = Curious()
        broker.broker.handle(Request(Command(code, ext=curious), broker.channel), 0.0, START_MS)
        asked[code] = frozenset(curious.asked)
    return asked


class HostileClients:
    """Makes requests, from one source of random numbers."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._codes = sorted(REQUEST_CODES)
        self._kinds = _kinds()
        self._asked: dict[int, set[str]] = {}
        self._golden: dict[int, list[tuple[dict[str, str], bytes]]] = {}
        self._marks = 0
        self._reading: list[int] = []
        self._messages: deque[tuple[int, str]] = deque([(0, "0")], maxlen=MESSAGES_KEPT)
        self._handles: deque[str] = deque(["none"], maxlen=MESSAGES_KEPT)
        for exchange in json.loads(TRAFFIC.read_text()):
            (command,) = FrameReader().decode(bytes.fromhex(exchange["request"]["frame"]))
            self._asked.setdefault(command.code, set()).update(command.ext or {})
            self._golden.setdefault(command.code, []).append((command.ext or {}, command.body))
        for code, names in fields_asked().items():
            self._asked.setdefault(code, set()).update(names)
            has_body = any(body for _, body in self._golden.get(code, ()))
            if names or has_body or code in _BODIES or code in _NAMELESS:
                self._reading.append(code)

    def stored(self, answer: Mapping[str, str]) -> None:
        """A send was answered with these fields: later requests may refer to its message."""
        for message_id in answer.get("msgId", "").split(","):
            if len(message_id) == OFFSET_ID_DIGITS:
                position = offset_id.decode(message_id)[1]
                self._messages.append((position, answer.get("queueOffset", "0")))
        if "recallHandle" in answer:
            self._handles.append(answer["recallHandle"])

    def request(self) -> Hostile:
        """The next request."""
        chance = self._chance
        code = self._code()
        wrong = chance.choice((0.0, 0.0, 0.03, 0.1, 0.5))
        self._marks += 1
        mark = b"<%d>" % self._marks
        return Hostile(
            code=code,
            ext=self._ext(code, wrong),
            body=self._body(code, wrong, mark),
            is_oneway=chance.random() < 0.1,
            version=OWN_VERSION if chance.random() < 0.8 else chance.choice(NUMBERS) % 2**31,
            language=chance.choice((0, 0, 0, 1, 12, 255)),
            mark=mark,
        )

    def _code(self) -> int:
        chance = self._chance
        kind = chance.random()
        if kind < 0.3:
            return chance.choice(_SENDS)
        if kind < 0.4:
            return chance.choice(_READS)
        # Codes that are refused whatever the fields are read none.
        return chance.choice(self._reading if kind < 0.97 else self._codes)

    # ------------------------------------------------------------------ headers

    def _ext(self, code: int, wrong: float) -> dict[str, str]:
        chance = self._chance
        fields: dict[str, str] = {}
        message = chance.choice(self._messages)
        if code in self._golden and chance.random() < 0.1:
            fields.update(chance.choice(self._golden[code])[0])
        for name in sorted(self._asked.get(code, ())):
            if chance.random() < wrong:
                if chance.random() < 0.7:
                    fields[name] = self.odd_text()
                else:
                    fields.pop(name, None)
            elif name not in fields or chance.random() < 0.8:
                fields[name] = self._sound(code, name, message)
        return fields

    def _sound(self, code: int, name: str, message: tuple[int, str]) -> str:
        """A correct value for this field."""
        chance = self._chance
        kind = self._kinds.get(name, "s")
        plain = _LETTERS.get(name, name) if code in _LETTER_CODES else name
        if plain in _SOUND:
            return chance.choice(_SOUND[plain])
        if plain == "properties":
            return self.properties()
        if plain in ("msgId", "offsetMsgId"):
            return offset_id.encode(HOST, message[0])
        if plain == "recallHandle":
            return chance.choice(self._handles)
        if plain in ("commitLogOffset", "offset") and chance.random() < 0.9:
            return str(message[0])
        if plain == "tranStateTableOffset" and chance.random() < 0.9:
            return message[1]
        if kind == "b":
            return chance.choice(("true", "false"))
        if not kind.strip("il"):
            return str(chance.choice((0, 0, 0, 0, 1, 1, 2, 3, 8, 32)))
        return self._name(plain.lower())

    def _name(self, field: str) -> str:
        chance = self._chance
        if "topic" in field:
            kind = chance.random()
            return chance.choice("TU" if kind < 0.6 else TOPICS if kind < 0.9 else BROKERS_TOPICS)
        if "group" in field:
            return chance.choice(GROUPS)
        return chance.choice(CLIENTS if "client" in field else WORDS)

    def odd_text(self) -> str:
        chance = self._chance
        if chance.random() < 0.5:
            return str(chance.choice(NUMBERS))
        return chance.choice(ODD_TEXTS + LISTS + WORDS)

    def properties(self) -> str:
        chance = self._chance
        pairs = []
        for name in chance.sample(PROPERTIES, chance.choice((0, 1, 1, 2, 5))):
            value = self.odd_text() if chance.random() < 0.5 else chance.choice(("1", "3", "true"))
            pairs.append(f"{name}\x01{value}\x02")
        return "".join(pairs)

    # ------------------------------------------------------------------ bodies

    def _body(self, code: int, wrong: float, mark: bytes) -> bytes:
        chance = self._chance
        if code in _SENDS:
            return self._damaged(self._message(mark), wrong)
        bodies = [body for _, body in self._golden.get(code, ()) if body]
        bodies += _BODIES.get(code, ())
        if bodies and chance.random() < 0.95:
            return self._damaged(self._json(chance.choice(bodies), wrong), wrong / 4)
        if chance.random() < 0.8:
            return b""
        return self._monster() if chance.random() < 0.2 else chance.randbytes(20)

    def _message(self, mark: bytes) -> bytes:
        chance = self._chance
        if chance.random() < 0.6:
            bomb = zlib.compress(b"\0" * 4_000_000) if chance.random() < 0.05 else b""
            return mark + chance.choice((b"", b"x" * 3_000, bomb))
        return batch.encode(
            [
                batch.BatchPart(
                    mark + b"%d" % number,
                    chance.choice(NUMBERS) % 2**31,
                    self.properties().encode("utf-8", "replace")[:30_000],
                )
                for number in range(chance.choice((1, 2, 5)))
            ]
        )

    def _damaged(self, body: bytes, wrong: float) -> bytes:
        chance = self._chance
        if not body or chance.random() >= wrong:
            return body
        at = chance.randrange(len(body))
        return chance.choice(
            (
                body[:at],
                body[at:],
                body[:at] + chance.randbytes(4) + body[at + 4 :],
                body[:at] + bytes([body[at] ^ 0x80]) + body[at + 1 :],
                body + body,
            )
        )

    def _json(self, body: bytes, wrong: float) -> bytes:
        try:
            value = javajson.loads(body)
        except Exception:
            return body
        return json.dumps(self._other(value, wrong)).encode()

    def _other(self, value: object, wrong: float) -> object:
        """A copy of the value with changed names and, at times, changed values."""
        chance = self._chance
        if chance.random() < wrong:
            return chance.choice(
                (None, [], {}, True, 1.5, [[]], {"a": {}}, chance.choice(NUMBERS), self.odd_text())
            )
        if isinstance(value, dict):
            return {str(name): self._other(each, wrong) for name, each in value.items()}
        if isinstance(value, list):
            return [self._other(each, wrong) for each in value] * chance.choice((1, 1, 1, 2))
        if isinstance(value, str) and value not in _MEANINGFUL and chance.random() < 0.9:
            return chance.choice(WORDS)
        return value

    def _monster(self) -> bytes:
        many = b",".join(b'"k%d":1' % number for number in range(WIDTH))
        return self._chance.choice(
            (
                b"[" * DEPTH,
                b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
                b"{" + many + b"}",
                b"[" + b"{}," * WIDTH + b"1]",
                b'{"a":1,"a":2,"a":{}}',
                b"null",
                b"\xff\xfe",
            )
        )


_SENDS: Final = (
    RequestCode.SEND_MESSAGE,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.SEND_REPLY_MESSAGE,
    RequestCode.SEND_REPLY_MESSAGE_V2,
)
_READS: Final = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE, RequestCode.HEART_BEAT)
_NAMELESS: Final = frozenset({RequestCode.UPDATE_BROKER_CONFIG, RequestCode.GET_ALL_TOPIC_CONFIG})
# Fields that no vector has.
_BODIES: Final[Mapping[int, tuple[bytes, ...]]] = {
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: (
        b'{"topicConfigList":[{"topicName":"new","perm":6},{"topicName":"T","order":true}]}',
    ),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: (
        b'{"groupConfigList":[{"groupName":"G","retryQueueNums":1},{"groupName":"H"}]}',
    ),
}
# Values that are neither a name nor a small number.
_SOUND: Final[Mapping[str, tuple[str, ...]]] = {
    "sysFlag": ("0", "0", "0", "1", "2", "4", "6", "8", "12", "16", "48", "192", "1792", "4095"),
    "subscription": ("*", "*", "a", "a > 1", "a || b", "T"),
    "expressionType": ("TAG", "TAG", "SQL92", "X"),
    "commitOrRollback": ("8", "12", "0"),
    "suspendTimeoutMillis": ("0", "1000", "20000"),
    "bornTimestamp": ("0", "1700000000000"),
    "timestamp": ("-1", "0", "1700000000000"),
    "unitMode": ("false", "true"),
    "batch": ("false", "false", "true"),
    "perm": ("2", "4", "6", "7"),
    "topicFilterType": ("SINGLE_TAG", "MULTI_TAG"),
    "statsName": ("TOPIC_PUT_NUMS", "GROUP_GET_NUMS", "BROKER_PUT_NUMS"),
}
_LETTER_CODES: Final = frozenset(
    {
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
    }
)
_LETTERS: Final = {
    "a": "producerGroup", "b": "topic", "c": "defaultTopic", "d": "defaultTopicQueueNums",
    "e": "queueId", "f": "sysFlag", "g": "bornTimestamp", "h": "flag", "i": "properties",
    "j": "reconsumeTimes", "k": "unitMode", "l": "maxReconsumeTimes", "m": "batch",
}  # fmt: skip
# Texts of bodies that select behaviour; all other texts are names.
_MEANINGFUL: Final = frozenset(
    {
        "TAG", "SQL92", "CLUSTERING", "BROADCASTING", "CONSUME_PASSIVELY", "CONSUME_ACTIVELY",
        "CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_LAST_OFFSET", "SINGLE_TAG", "MULTI_TAG", "*",
    }
)  # fmt: skip


def is_send(code: int) -> bool:
    return code in _SENDS


def _kinds() -> dict[str, str]:
    """The types that a field of this name has in any header."""
    kinds: dict[str, str] = {}
    for each in header.Header.__subclasses__():
        if getattr(sys.modules[each.__module__], each.__name__) is not each:
            continue  # the class as it was before its decorator replaced it
        for name, kind in header.field_kinds(each).items():
            kinds[name] = kinds.get(name, "") + kind
    return kinds
