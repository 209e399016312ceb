"""Reads the JSON of fastjson that standard JSON does not allow.

Accepted beyond standard JSON, each because fastjson 1.x writes or reads it:

    {0:"a",-1:"b"}            numbers as keys                      -> int keys
    {{"queueId":0}:1}         objects as keys                      -> ObjectKey
    {a:1,'b':'c'}             bare and single-quoted names, single-quoted text
    {"a":1,,"b":[1,2,],}      stray commas
    "\\x41 \\v \\0"              its own escapes, and raw control characters
    1L 1.5D +1 01             Java's number suffixes, signs, leading zeros
    NaN undefined             both null

Comments, which fastjson accepts, are refused: no peer writes any.

This reader takes ten times as long as the standard parser for each value. The caller bounds the
number of values. Standard objects inside the text go to the standard parser: a 5.x registration of
many topics is non-standard only in its few static topics.

Invariant: nesting is bounded by DEPTH_MAX, the values read by the caller's bound; keys cannot be
chosen so that many of them collide; text that cannot be parsed raises JsonError with the position.
"""

from __future__ import annotations

import json
import re
from itertools import chain, compress
from typing import Final, NoReturn, TypeGuard, final

from gantrymq.base.bounds import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from gantrymq.base.errors import RemoteError
from gantrymq.wire.jsonvalue import Json, JsonKey, JsonObject, ObjectKey

# RocketMQ's deepest body (consume statistics of all groups) has seven levels.
DEPTH_MAX: Final = 64

# How many parts of a non-standard text may turn out to be non-standard too; each costs one pass.
_STANDARD_TRIES_MAX: Final = 3

# MessageQueue, the only bean that is used as a key, has three. Python hashes numbers without a
# secret: more of them, or larger ones, could be chosen such that all keys share one hash.
_KEY_MEMBERS_MAX: Final = 4

# Possessive quantifiers (*+) never backtrack, so no memory is kept for backtracking.
_BLANK: Final = re.compile(r"[ \t\r\n\f\b\ufeff]*+")
_BLANK_AND_COMMAS: Final = re.compile(r"[ \t\r\n\f\b\ufeff,]*+")
_TEXT: Final = {
    '"': re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\]++|\\.)*+'", re.DOTALL),
}
# Escaped halves of characters beyond the Basic Multilingual Plane: the standard parser would accept
# a half, and a str with a half cannot be encoded again.
SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_NUMBER: Final = re.compile(r"([+-]?[0-9]+)(\.[0-9]*)?([eE][+-]?[0-9]+)?([LSBFD])?")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_ESCAPE: Final = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))",
    re.DOTALL,
)
_PLAIN_ESCAPES: Final = {
    '"': '"', "'": "'", "\\": "\\", "/": "/",
    "b": "\b", "f": "\f", "F": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "0": "\0", "1": "\1", "2": "\2", "3": "\3", "4": "\4", "5": "\5", "6": "\6", "7": "\7",
}  # fmt: skip
_CONSTANTS: Final[dict[str, Json]] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": None,
    "undefined": None,
}


class JsonError(RemoteError):
    """Text that fastjson cannot parse either; `position` counts characters from 0."""

    def __init__(self, what: str, text: str, position: int) -> None:
        near = text[max(0, position - 20) : position + 20]
        super().__init__(f"JSON at character {position}: {what}, near {near!r}")
        self.position = position


@final
class TolerantReader:
    """Reads one document of at most `values_max` values; `read` is called once.

    A text counts as many values as it has backslashes. With `standard_parts`, standard objects
    inside the document go to the standard parser, and each counts as one value.
    """

    __slots__ = ("_depth", "_position", "_text", "_tries", "_values_left", "_values_max")

    def __init__(self, text: str, values_max: int, *, standard_parts: bool = True) -> None:
        self._text = text
        self._values_max = values_max
        self._values_left = values_max
        self._tries = _STANDARD_TRIES_MAX if standard_parts else 0
        self._position = 0
        self._depth = 0

    def read(self) -> Json:
        self._skip(_BLANK)
        if self._position == len(self._text):
            return None
        value = self._value()
        self._skip(_BLANK)
        if self._position != len(self._text):
            self._fail("something follows the value")
        return value

    def _value(self) -> Json:
        self._count(1)
        first = self._peek()
        if first in ("{", "[") and self._depth > 0 and self._tries > 0:
            value = self._standard_part()
            if value is not None:
                return value
        if first == "{":
            return self._object()
        if first == "[":
            return self._array()
        if first in _TEXT:
            return self._quoted(first)
        number = _NUMBER.match(self._text, self._position)
        if number is not None:
            return self._number(number)
        word = self._word()
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        return self._fail("a value belongs here", len(word))

    def _standard_part(self) -> Json:
        """Read the container at this position if it is standard JSON; None if it is not."""
        part = read_standard(self._text, self._position, DEPTH_MAX - self._depth)
        if part is None:
            self._tries -= 1
            return None
        value, self._position = part
        return value

    def _count(self, values: int) -> None:
        self._values_left -= values
        if self._values_left < 0:
            self._fail(f"more than {self._values_max} values in what is no standard JSON")

    def _object(self) -> JsonObject:
        self._enter()
        members: JsonObject = {}
        while True:
            self._skip(_BLANK_AND_COMMAS)
            if self._peek() == "}":
                break
            key = self._key()
            self._skip(_BLANK)
            if self._peek() != ":":
                self._fail("a colon belongs here")
            self._position += 1
            self._skip(_BLANK)
            members[key] = self._value()
            self._skip(_BLANK)
            if self._peek() not in (",", "}"):
                self._fail("a comma or a closing brace belongs here")
        self._leave()
        return members

    def _array(self) -> list[Json]:
        self._enter()
        items: list[Json] = []
        while True:
            self._skip(_BLANK_AND_COMMAS)
            if self._peek() == "]":
                break
            items.append(self._value())
            self._skip(_BLANK)
            if self._peek() not in (",", "]"):
                self._fail("a comma or a closing bracket belongs here")
        self._leave()
        return items

    def _key(self) -> JsonKey:
        first = self._peek()
        if first in _TEXT:
            return self._quoted(first)
        if first == "{":
            return self._object_key()
        number = _NUMBER.match(self._text, self._position)
        if number is not None:
            value = self._number(number)
            if isinstance(value, float):
                return str(value)
            if not LONG_MIN <= value <= LONG_MAX:
                self._fail("a key is beyond 64 bits", number.end() - number.start())
            return value
        return self._word() or self._fail("a key belongs here")

    def _object_key(self) -> ObjectKey:
        start = self._position
        members: list[tuple[str, str | int | float | bool | None]] = []
        for name, value in self._object().items():
            if not isinstance(name, str) or not _may_stand_in_key(value):
                self._position = start
                self._fail("an object used as a key may hold texts and 32-bit numbers only")
            members.append((name, value))
        if len(members) > _KEY_MEMBERS_MAX:
            self._position = start
            self._fail(f"an object used as a key has more than {_KEY_MEMBERS_MAX} members")
        return ObjectKey(tuple(members))

    def _quoted(self, quote: str) -> str:
        match = _TEXT[quote].match(self._text, self._position)
        if match is None:
            self._fail("the text has no end")
        content = match[0][1:-1]
        if "\\" in content:
            self._count(content.count("\\"))
            content = _ESCAPE.sub(self._unescape, content)
        self._position = match.end()
        return content

    def _unescape(self, match: re.Match[str]) -> str:
        high, low, unit, byte, plain = match.groups()
        if high is not None:
            return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
        if unit is not None:
            # Half a surrogate pair is not a character; Java writes a question mark for it.
            return "?" if 0xD800 <= int(unit, 16) <= 0xDFFF else chr(int(unit, 16))
        if byte is not None:
            return chr(int(byte, 16))
        return _PLAIN_ESCAPES.get(plain) or self._fail(f"escape {plain!r} is not known")

    def _number(self, match: re.Match[str]) -> int | float:
        whole, fraction, exponent, suffix = match.groups()
        try:
            if fraction is None and exponent is None and suffix not in ("F", "D"):
                number: int | float = int(whole)
            else:
                number = float(whole + (fraction or "") + (exponent or ""))
        except ValueError:
            self._fail("the number is too long")
        self._position = match.end()
        return number

    def _word(self) -> str:
        match = _WORD.match(self._text, self._position)
        if match is None:
            return ""
        self._position = match.end()
        return match[0]

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._position)
        assert match is not None, "both patterns match nothing at all"
        self._position = match.end()

    def _enter(self) -> None:
        self._position += 1
        self._depth += 1
        if self._depth > DEPTH_MAX:
            self._fail(f"nested deeper than {DEPTH_MAX} levels")

    def _leave(self) -> None:
        self._position += 1
        self._depth -= 1

    def _fail(self, what: str, back: int = 0) -> NoReturn:
        raise JsonError(what, self._text, self._position - back)


def _may_stand_in_key(value: Json) -> TypeGuard[str | int | None]:
    if type(value) is int:
        return INT_MIN <= value <= INT_MAX
    return value is None or isinstance(value, bool | str)


def read_standard(text: str, position: int, depth_max: int = DEPTH_MAX) -> tuple[Json, int] | None:
    """The value at this position and its end, if it is standard JSON; else None."""
    try:
        part: tuple[Json, int] = STANDARD.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None
    value, end = part
    if SURROGATE_ESCAPE.search(text, position, end) is not None:
        return None
    if text.count("{", position, end) + text.count("[", position, end) > depth_max:
        _check_depth(value, depth_max)
    return part


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


STANDARD: Final = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)
_CONTAINERS: Final = frozenset((dict, list))


def _check_depth(value: Json, depth_max: int) -> None:
    """Refuse a value nested deeper than that; goes level by level, without recursion."""
    level: list[Json] = [value]
    for _ in range(depth_max):
        children: list[Json] = list(
            chain.from_iterable(
                node.values() if isinstance(node, dict) else node
                for node in level
                if isinstance(node, NODES)
            )
        )
        # Most children are no containers: they are skipped without a Python step each.
        level = list(compress(children, map(_CONTAINERS.__contains__, map(type, children))))
        if not level:
            return
    raise RemoteError(f"JSON nested deeper than {DEPTH_MAX} levels")


NODES: Final = (dict, list)  # a tuple, because a union type would be made for each call
