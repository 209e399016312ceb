"""How a typed header and its ext fields turn into each other.

A header is a frozen slotted dataclass; its fields are its ext fields, in the order they are
written. A field's wire name is its own name in camelCase, or what Wire says. A field without a
default is required, and refused by name when it is absent or unusable; Java reads null there and
answers SYSTEM_ERROR where it trips over it. An optional one defaults to None and is left out when
it is None. Ext fields nobody declared are ignored, as newer peers send more.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class GetMaxOffsetRequest(Header):
        topic: str                                         "topic", required
        queue_id: Int32                                    "queueId", required, 32 bits
        committed: bool | None = None                      "committed", optional
        broker_name: Annotated[str | None, Wire("bname")] = None

All values travel as text. Numbers are read as Java's Integer.parseInt and Long.parseLong read
them, booleans as Boolean.parseBoolean does: "true" in any case is true, anything else false.
"""

from __future__ import annotations

import dataclasses
import operator
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Self, TypeAlias, Union, final, get_args, get_type_hints

from gantrymq.base.camelcase import camel_case
from gantrymq.base.errors import LocalError, RemoteError

ExtValue: TypeAlias = str | int | bool | None


@final
@dataclass(frozen=True, slots=True)
class Wire:
    """The name of a field on the wire where camelCase does not give it."""

    name: str


@final
@dataclass(frozen=True, slots=True)
class Bits:
    """The width of a Java integer."""

    width: int


Int32: TypeAlias = Annotated[int, Bits(32)]
Int64: TypeAlias = Annotated[int, Bits(64)]


class HeaderError(RemoteError):
    """A header field is absent or no value of its type; the remark of a SYSTEM_ERROR answer."""

    def __init__(self, header: str, field: str, what: str) -> None:
        super().__init__(f"the custom field <{field}> {what} ({header})")
        self.header = header
        self.field = field


@dataclass(frozen=True, slots=True)
class Header:
    """Base of all headers: the two directions."""

    @classmethod
    def decode(cls, ext: Mapping[str, str] | None) -> Self:
        """The header in these ext fields; HeaderError names the first field that is wrong."""
        plan = _PLANS.get(cls) or _compile(cls)
        values: dict[str, ExtValue] = {}
        fields: Mapping[str, str] = {} if ext is None else ext
        find = fields.get
        wire_name = ""
        try:
            for attribute, wire_name, parse in plan.fields:
                text = find(wire_name)
                if text is None:
                    if attribute in plan.required:
                        raise HeaderError(cls.__name__, wire_name, "is null")
                else:
                    values[attribute] = text if parse is None else parse(text)
        except ValueError as error:
            raise HeaderError(cls.__name__, wire_name, str(error)) from None
        build: Callable[..., Self] = cls
        return build(**values)

    def encode(self) -> dict[str, str]:
        """The ext fields of this header, in declaration order, without those that are None."""
        plan = _PLANS.get(type(self)) or _compile(type(self))
        return {
            name: value if type(value) is str else _text(value)
            for name, value in zip(plan.wire_names, plan.values(self), strict=True)
            if value is not None
        }


@final
@dataclass(frozen=True, slots=True)
class _Plan:
    """All that decode and encode need to know of a class, worked out once."""

    fields: tuple[tuple[str, str, Callable[[str], ExtValue] | None], ...]
    required: frozenset[str]
    wire_names: tuple[str, ...]
    values: Callable[[Header], tuple[ExtValue, ...]]


_PLANS: Final[dict[type[Header], _Plan]] = {}


def wire_names(header: type[Header]) -> tuple[str, ...]:
    """The ext fields a header knows, in the order it writes them."""
    return (_PLANS.get(header) or _compile(header)).wire_names


def required_names(header: type[Header]) -> frozenset[str]:
    """The ext fields a header cannot do without."""
    plan = _PLANS.get(header) or _compile(header)
    return frozenset(wire for name, wire, _ in plan.fields if name in plan.required)


def field_kinds(header: type[Header]) -> dict[str, str]:
    """The type of each ext field: s text, i int32, l int64, b boolean."""
    plan = _PLANS.get(header) or _compile(header)
    return {wire: _KINDS[parse] for _, wire, parse in plan.fields}


def _compile(header: type[Header]) -> _Plan:
    hints = get_type_hints(header, include_extras=True)
    fields = []
    required = set()
    for field in dataclasses.fields(header):
        kinds, marks = _flatten(hints[field.name])
        wire = next((mark.name for mark in marks if isinstance(mark, Wire)), camel_case(field.name))
        fields.append((field.name, wire, _parser(kinds, marks)))
        if field.default is dataclasses.MISSING:
            required.add(field.name)
    attributes = [name for name, _, _ in fields]
    plan = _Plan(
        tuple(fields),
        frozenset(required),
        tuple(wire for _, wire, _ in fields),
        _values_of(attributes),
    )
    _PLANS[header] = plan
    return plan


def _flatten(hint: object) -> tuple[set[object], list[object]]:
    """The plain types in an annotation and the marks on them: Annotated[Int32 | None, Wire("a")]
    gives {int, NoneType} and [Wire("a"), Bits(32)]."""
    marks = list(getattr(hint, "__metadata__", ()))
    if marks:
        kinds, inner = _flatten(get_args(hint)[0])
        return kinds, marks + inner
    if isinstance(hint, types.UnionType) or getattr(hint, "__origin__", None) is Union:
        kinds = set()
        for part in get_args(hint):
            part_kinds, inner = _flatten(part)
            kinds |= part_kinds
            marks += inner
        return kinds, marks
    return {hint}, []


def _parser(kinds: set[object], marks: list[object]) -> Callable[[str], ExtValue] | None:
    kinds = kinds - {type(None)}
    if kinds == {str}:
        return None
    if kinds == {bool}:
        return _parse_boolean
    if kinds == {int}:
        widths = [mark.width for mark in marks if isinstance(mark, Bits)]
        return {32: parse_int32, 64: parse_int64}[widths[0]]
    raise LocalError(f"no ext field can be of type {kinds}")


def _values_of(attributes: list[str]) -> Callable[[Header], tuple[ExtValue, ...]]:
    if len(attributes) == 1:
        one = operator.attrgetter(attributes[0])
        return lambda header: (one(header),)
    return operator.attrgetter(*attributes)


def _text(value: ExtValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


# int() alone would also take blanks, underscores and other scripts' digits. Twenty digits hold any
# long; more can only be leading zeros, which nobody sends.
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")


def parse_int32(text: str) -> int:
    """Integer.parseInt; ValueError says what is wrong."""
    # Most numbers are short and plain: no need for the pattern.
    if (len(text) < 10 and text.isdigit() and text.isascii()) or _INTEGER.fullmatch(text):
        number = int(text)
        if -0x80000000 <= number <= 0x7FFFFFFF:
            return number
    raise ValueError(f"is {_shown(text)}, not an int")


def parse_int64(text: str) -> int:
    """Long.parseLong; ValueError says what is wrong."""
    if (len(text) < 19 and text.isdigit() and text.isascii()) or _INTEGER.fullmatch(text):
        number = int(text)
        if -0x8000000000000000 <= number <= 0x7FFFFFFFFFFFFFFF:
            return number
    raise ValueError(f"is {_shown(text)}, not a long")


def _parse_boolean(text: str) -> bool:
    return text == "true" or text.lower() == "true"


_KINDS: Final[dict[Callable[[str], ExtValue] | None, str]] = {
    None: "s",
    parse_int32: "i",
    parse_int64: "l",
    _parse_boolean: "b",
}


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
