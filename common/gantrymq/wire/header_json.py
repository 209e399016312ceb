"""Encodes and decodes the JSON form of a header.

    {"code":310,"extFields":{"a":"PG","b":"TopicTest"},"flag":0,"language":"JAVA","opaque":102,
     "serializeTypeCurrentRPC":"JSON","version":479}

Written as Java writes it: keys in this order, no blanks between tokens, a null `remark` (which
stands before `serializeTypeCurrentRPC`) and null `extFields` omitted, ext in the map's order.

Read as Java reads it: any order, unknown keys ignored, null means absent, an unknown language is
OTHER, numbers may be strings, and a value in `extFields` that is not text becomes its JSON text.
Bytes that are not UTF-8 become U+FFFD and half a surrogate pair becomes a question mark, as Java
itself would write them: every text of a decoded command can be encoded again.

`parse` reads all of this with the standard library's decoder. When compiled, header_scan is tried
first and leaves unusual headers to `parse`; when interpreted, `parse` alone is faster.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring as quote
from typing import Final, TypeAlias

from mypy_extensions import i64

from gantrymq.base.bounds import INT_MAX, INT_MIN
from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire.codes import LanguageCode
from gantrymq.wire.command import Command
from gantrymq.wire.header_scan import scan

_LANGUAGE_NAMES: Final = [member.name for member in LanguageCode]
_LANGUAGES: Final = {member.name: int(member) for member in LanguageCode}
_OTHER: Final = 7


_JsonValue: TypeAlias = "str | int | bool | list[_JsonValue] | dict[str, _JsonValue] | None"
# Numbers with a fraction or an exponent keep their text, which only ext needs.
_decoder: Final = json.JSONDecoder(parse_float=str, parse_constant=str, strict=False)
# A pair of surrogate escapes, half of one, or any other escape (so that "\\ud800" is not half).
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_INTEGER: Final = re.compile(r"([+-]?\d{1,20})(\.\d*)?", re.ASCII)


def decode(data: bytes, start: i64, end: i64) -> Command:
    """Decode the JSON header data[start:end] to a command without a body."""
    command: Command | None = None
    if _is_compiled:
        command = scan(data, start, end)
    if command is None:
        command = parse(data[start:end])
    return command


def encode(command: Command) -> bytes:
    """The JSON header of a command."""
    ext = command.ext
    fields = ""
    if ext is not None:
        pairs = ",".join([quote(name) + ":" + quote(value) for name, value in ext.items()])
        fields = '"extFields":{' + pairs + "},"
    remark = command.remark
    text = "" if remark is None else '"remark":' + quote(remark) + ","
    known = 0 <= command.language < len(_LANGUAGE_NAMES)
    language = _LANGUAGE_NAMES[command.language if known else _OTHER]
    header = (
        f'{{"code":{_checked(command.code)},{fields}"flag":{_checked(command.flag)},'
        f'"language":"{language}","opaque":{_checked(command.opaque)},{text}'
        f'"serializeTypeCurrentRPC":"JSON","version":{_checked(command.version)}}}'
    )
    return header.encode("utf-8", "replace")


def _checked(number: int) -> int:
    if INT_MIN <= number <= INT_MAX:
        return number
    raise LocalError(f"{number} does not fit into the 32 bits a header field has")


def parse(header: bytes) -> Command:
    """Decode any JSON header; RemoteError says why it is invalid."""
    try:
        text = header.decode("utf-8", "replace")
        if "\\ud" in text or "\\uD" in text:
            text = _ESCAPE.sub(_without_half_pair, text)
        fields: _JsonValue = _decoder.decode(text)
        if not isinstance(fields, dict):
            raise RemoteError(f"the JSON header is a {type(fields).__name__}, not an object")
        return Command(
            _integer(fields, "code"),
            opaque=_integer(fields, "opaque"),
            flag=_integer(fields, "flag"),
            language=_language(fields.get("language")),
            version=_integer(fields, "version"),
            remark=_text(fields.get("remark")),
            ext=_ext(fields.get("extFields")),
        )
    except (ValueError, RecursionError) as error:
        raise RemoteError(f"the header is not JSON: {error}") from error


def _without_half_pair(escape: re.Match[str]) -> str:
    return "?" if escape[1] else escape[0]


def _integer(fields: dict[str, _JsonValue], name: str) -> int:
    value = fields.get(name)
    if isinstance(value, str):
        match = _INTEGER.fullmatch(value)
        value = int(match[1]) if match else None if value in {"", "null"} else value
    if value is None:
        return 0
    if isinstance(value, int) and INT_MIN <= value <= INT_MAX:
        return int(value)
    raise RemoteError(f"{name} of the JSON header is no 32-bit integer: {str(value)[:40]!r}")


def _language(value: _JsonValue) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return _LANGUAGES.get(value, _OTHER)
    if isinstance(value, int) and 0 <= value < len(_LANGUAGE_NAMES):
        return int(value)
    return _OTHER


def _ext(value: _JsonValue) -> dict[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise RemoteError(f"extFields is a {type(value).__name__}, not an object")
    ext = {}
    for name, field in value.items():
        text = field if isinstance(field, str) else _text(field)
        if text is not None:
            ext[name] = text
    return ext


def _text(value: _JsonValue) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# Compiled functions are builtins, which tells whether this module is compiled.
_is_compiled: Final = type(decode).__name__ != "function"
