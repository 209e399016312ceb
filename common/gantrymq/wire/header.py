"""Converts between typed headers and ext fields.

A header is a slotted dataclass, frozen unless it is a hot one; its fields are its ext fields, in
the order of writing. A field's wire name is its name in camelCase, or the one that Wire gives. A
field without a default is required, and the error names it if it is absent or invalid; Java reads
null there and answers SYSTEM_ERROR where it fails. An optional field defaults to None and is
omitted if it is None. Undeclared ext fields are ignored, since newer peers send more.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class GetMaxOffsetRequest(Header):
        topic: str                                         "topic", required
        queue_id: Int32                                    "queueId", required, 32 bits
        committed: bool | None = None                      "committed", optional
        broker_name: Annotated[str | None, Wire("bname")] = None

header_fields.py does the conversion and describes how values are written as text.
"""

from __future__ import annotations

import dataclasses
import operator
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import (
    Annotated,
    ClassVar,
    Final,
    Self,
    TypeAlias,
    Union,
    final,
    get_args,
    get_type_hints,
)

from gantrymq.base.camelcase import camel_case
from gantrymq.base.errors import LocalError, RemoteError
from gantrymq.wire import header_fields
from gantrymq.wire.header_fields import BOOLEAN, INT32, INT64, TEXT, ExtValue, Field


@final
@dataclass(frozen=True, slots=True)
class Wire:
    """The name of a field on the wire, if it differs from camelCase."""

    name: str


@final
@dataclass(frozen=True, slots=True)
class Bits:
    """The width of a Java integer."""

    width: int


Int32: TypeAlias = Annotated[int, Bits(32)]
Int64: TypeAlias = Annotated[int, Bits(64)]


class HeaderError(RemoteError):
    """A header field is absent or invalid; the text is the remark of a SYSTEM_ERROR response."""

    def __init__(self, header: str, field: str, what: str) -> None:
        super().__init__(f"the custom field <{field}> {what} ({header})")
        self.header = header
        self.field = field


class Header:
    """Base of all headers, with both conversions.

    Not a dataclass itself, because frozen and other dataclasses cannot share a dataclass as base.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[object]]]

    @classmethod
    def decode(cls, ext: Mapping[str, str] | None) -> Self:
        """The header in these ext fields; HeaderError names the first invalid field."""
        plan = _plan(cls)
        fields: Mapping[str, str] = {} if ext is None else ext
        try:
            values = header_fields.read(plan.fields, fields)
        except ValueError:
            raise _first_fault(cls, plan, fields) from None
        build: Callable[..., Self] = cls
        return build(**values)

    def encode(self) -> dict[str, str]:
        """The ext fields of this header, in declaration order, without those that are None."""
        plan = _plan(type(self))
        return header_fields.written(plan.fields, plan.values(self))


@final
@dataclass(frozen=True, slots=True)
class _Plan:
    """What decode and encode need to know of a class, computed once."""

    fields: tuple[Field, ...]
    values: Callable[[Header], tuple[ExtValue, ...]]


_PLANS: Final[dict[type[Header], _Plan]] = {}


def wire_names(header: type[Header]) -> tuple[str, ...]:
    """The ext fields of a header, in the order of writing."""
    return tuple(field.wire_name for field in _plan(header).fields)


def required_names(header: type[Header]) -> frozenset[str]:
    """The required ext fields of a header."""
    return frozenset(field.wire_name for field in _plan(header).fields if field.is_required)


def field_kinds(header: type[Header]) -> dict[str, str]:
    """The type of each ext field: s text, i int32, l int64, b boolean."""
    return {field.wire_name: field.kind for field in _plan(header).fields}


def _plan(header: type[Header]) -> _Plan:
    return _PLANS.get(header) or _compile(header)


def _compile(header: type[Header]) -> _Plan:
    hints = get_type_hints(header, include_extras=True)
    fields = []
    for field in dataclasses.fields(header):
        kinds, marks = _flatten(hints[field.name])
        wire = next((mark.name for mark in marks if isinstance(mark, Wire)), camel_case(field.name))
        is_required = field.default is dataclasses.MISSING
        fields.append(Field(field.name, wire, _kind(kinds, marks), is_required=is_required))
    plan = _Plan(tuple(fields), _values_of([field.attribute for field in fields]))
    _PLANS[header] = plan
    return plan


def _first_fault(header: type[Header], plan: _Plan, ext: Mapping[str, str]) -> HeaderError:
    """The error for the first of these ext fields that is invalid."""
    for field in plan.fields:
        try:
            field.value(ext.get(field.wire_name))
        except ValueError as error:
            return HeaderError(header.__name__, field.wire_name, str(error))
    raise AssertionError("a field was refused, and none is wrong")


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


def _kind(kinds: set[object], marks: list[object]) -> str:
    kinds = kinds - {type(None)}
    if kinds == {str}:
        return TEXT
    if kinds == {bool}:
        return BOOLEAN
    if kinds == {int}:
        widths = [mark.width for mark in marks if isinstance(mark, Bits)]
        return {32: INT32, 64: INT64}[widths[0]]
    raise LocalError(f"no ext field can be of type {kinds}")


def _values_of(attributes: list[str]) -> Callable[[Header], tuple[ExtValue, ...]]:
    if len(attributes) == 1:
        one = operator.attrgetter(attributes[0])
        return lambda header: (one(header),)
    return operator.attrgetter(*attributes)
