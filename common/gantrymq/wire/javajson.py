"""Reads and writes fastjson's JSON: what Java peers write, and what they can read.

Reading (`loads`) tries the standard parser, which runs at C speed and suffices for most bodies;
what it rejects goes to the tolerant parser (fastjson). Bytes that are not UTF-8 become
U+FFFD, as in Java; half a surrogate pair becomes "?". `$ref`s stay plain objects unless the caller
asks to resolve them: resolved, they make a small text a large value, and of all bodies that peers
send only VIEW_BROKER_STATS_DATA has any.

Writing has three forms, each equal to Java's byte for byte if the members of the value are in
the order in which Java writes them (alphabetical for beans):

    dumps_fastjson   {0:"a"} {{"queueId":0}:1}   RemotingSerializable.encode; what Java reads always
    dumps_standard   {"0":"a"}, keys sorted, ASCII only     routes for 4.9.4 and newer; anyone else
    dumps_pretty     as dumps_fastjson, with tabs                         configuration files

References are never written: every occurrence is written in full, which every reader understands.
A value that contains itself, or nests too deep, is an error of the caller: LocalError.
"""

from __future__ import annotations

import math
import re
from typing import Final, final

from gantrymq.base.bounds import FRAME_BYTES_MAX
from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire.fastjson.references import resolve_references
from gantrymq.wire.fastjson.tolerant_reader import (
    DEPTH_MAX,
    TolerantReader,
    read_standard,
)
from gantrymq.wire.jsonvalue import Json, JsonKey, JsonObject, ObjectKey

# Bounds the cost of a document beyond that of its bytes. A frame full of topics has 1.2 million
# values; as many small objects take 170 MB and a quarter of a second.
VALUES_MAX: Final = 1_250_000

# Bodies in the dialect are small: consume statistics of 12 000 queues have this many. 0.2 s.
DIALECT_VALUES_MAX: Final = 100_000

_STANDARD_BLANKS: Final = " \t\r\n"

_SPECIAL: Final = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029]')
_SPECIAL_OR_FOREIGN: Final = re.compile(r'["\\/]|[^\x20-\x7e]')
_SHORT_ESCAPES: Final = {
    '"': '\\"', "\\": "\\\\", "/": "\\/",
    "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
}  # fmt: skip


def loads(
    data: bytes | str,
    bytes_max: int = FRAME_BYTES_MAX,
    *,
    values_max: int = VALUES_MAX,
    dialect_values_max: int = DIALECT_VALUES_MAX,
    references: bool = False,
) -> Json:
    """The value of a JSON text as fastjson would read it; empty text is null.

    The defaults bound input of peers; Gantry's own files may be larger. The bounds are: bytes,
    values (counted by their separators), and values in JSON that is not standard. `references`
    resolves `$ref`s.
    """
    if len(data) > bytes_max:
        raise RemoteError(f"JSON of {len(data)} bytes; at most {bytes_max} are read")
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    # Each value but the first follows one of these; those inside texts make the bound stricter.
    if len(text) > values_max and sum(map(text.count, ",[{")) > values_max:
        raise RemoteError(f"JSON of more than {values_max} values")
    value = _read(text, dialect_values_max)
    return resolve_references(value, values_max) if references and '"$ref"' in text else value


def _read(text: str, dialect_values_max: int) -> Json:
    start = len(text) - len(text.lstrip(_STANDARD_BLANKS))
    part = read_standard(text, start)
    if part is not None and not text[part[1] :].lstrip(_STANDARD_BLANKS):
        return part[0]
    return TolerantReader(text, dialect_values_max).read()


def dumps_fastjson(value: Json) -> bytes:
    """As RemotingSerializable.encode writes it: number and object keys are not quoted."""
    return _Writer(standard=False, pretty=False).write(value)


def dumps_standard(value: Json) -> bytes:
    """Standard JSON as Java's name server writes it: keys quoted and sorted, ASCII only."""
    return _Writer(standard=True, pretty=False).write(value)


def dumps_pretty(value: Json) -> bytes:
    """As Java writes its configuration files: `dumps_fastjson` indented with tabs."""
    return _Writer(standard=False, pretty=True).write(value)


@final
class _Writer:
    __slots__ = ("_depth", "_out", "_pretty", "_special", "_standard")

    def __init__(self, *, standard: bool, pretty: bool) -> None:
        self._standard = standard
        self._pretty = pretty
        self._special = _SPECIAL_OR_FOREIGN if standard else _SPECIAL
        self._out: list[str] = []
        self._depth = 0

    def write(self, value: Json) -> bytes:
        self._value(value)
        return "".join(self._out).encode("utf-8", "replace")

    def _value(self, value: Json) -> None:
        if isinstance(value, str):
            self._out.append(self._quote(value))
        elif isinstance(value, bool):
            self._out.append("true" if value else "false")
        elif value is None:
            self._out.append("null")
        elif isinstance(value, int):
            self._out.append(int.__repr__(value))
        elif isinstance(value, float):
            self._out.append(java_double(value))
        elif isinstance(value, dict):
            self._object(value)
        else:
            self._array(value)

    def _object(self, members: JsonObject) -> None:
        if not members:
            self._out.append("{}")
            return
        self._enter("{")
        items = sorted(members.items(), key=_sort_key) if self._standard else members.items()
        separator = ""
        for key, value in items:
            self._out.append(separator)
            separator = ","
            if self._pretty and isinstance(key, str):
                self._new_line()
            self._key(key)
            self._out.append(":")
            self._value(value)
        self._leave("}")

    def _array(self, items: list[Json]) -> None:
        if not items:
            self._out.append("[]")
            return
        self._enter("[")
        separator = ""
        for value in items:
            self._out.append(separator)
            separator = ","
            if self._pretty:
                self._new_line()
            self._value(value)
        self._leave("]")

    def _key(self, key: JsonKey) -> None:
        if isinstance(key, str):
            self._out.append(self._quote(key))
        elif isinstance(key, ObjectKey):
            if self._standard:
                self._out.append(self._quote(dumps_fastjson(key.as_object()).decode()))
            else:
                self._object(key.as_object())
        else:
            self._out.append(f'"{key}"' if self._standard else str(key))

    def _quote(self, text: str) -> str:
        if self._special.search(text) is None:
            return f'"{text}"'
        return f'"{self._special.sub(_escape, text)}"'

    def _enter(self, bracket: str) -> None:
        self._out.append(bracket)
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise LocalError(f"a value nested deeper than {DEPTH_MAX} levels, or inside itself")

    def _leave(self, bracket: str) -> None:
        self._depth -= 1
        if self._pretty:
            self._new_line()
        self._out.append(bracket)

    def _new_line(self) -> None:
        self._out.append("\n" + "\t" * self._depth)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04X}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"


def _sort_key(item: tuple[JsonKey, Json]) -> tuple[int, int, bytes]:
    key = item[0]
    if isinstance(key, int):
        return (0, key, b"")
    text = key if isinstance(key, str) else repr(key)
    # Java compares text by UTF-16 units.
    return (1, 0, text.encode("utf-16-be", "surrogatepass"))


def java_double(number: float) -> str:
    """Like Double.toString: plain from 0.001 to below 10 000 000, else d.dddE±n; JSON has no
    NaN."""
    if not math.isfinite(number):
        return "null"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    # The fewest digits that are parsed as the same number, at least one after the point.
    text = next(t for t in (f"{number:.{n}e}" for n in range(1, 17)) if float(t) == number)
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}E{int(exponent)}"
