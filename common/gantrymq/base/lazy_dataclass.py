"""Provides a `dataclass` decorator for slotted classes that makes their methods on first use.

The standard library writes the methods of a dataclass as text and compiles them, some 0.7 ms a
class. A broker has two hundred classes of headers, bodies and messages; to complete them all would
take half of its start time, although many are never used. So a class made here gets its slots at
once, and its methods with its first instance, or when its fields are queried. The library makes
the methods, so the result is the same.

Invariant: `__init__` is replaced last and by one assignment. Any thread finds the class incomplete
or complete; if two threads complete it at once, they do the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, final

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, slots, **options):
        """The library's decorator, for classes with slots."""
        assert slots
        return lambda cls: _slotted(cls, options)


_FIELDS: Final = "__dataclass_fields__"
_OF_EVERY_CLASS: Final = ("__dict__", "__weakref__")


# Any: namespaces and arguments of classes hold arbitrary values.
def _slotted(cls: type, options: Mapping[str, bool]) -> Any:
    """The class with slots for its fields, and placeholders that complete it in place of
    methods."""
    names = _annotated(cls)
    whole = {name: value for name, value in vars(cls).items() if name not in _OF_EVERY_CLASS}
    bare = {name: value for name, value in whole.items() if name not in names}
    bare["__slots__"] = tuple(name for name in names if not _has_slot(cls, name))
    kind: Any = type(cls)
    made = kind(cls.__name__, cls.__bases__, bare)
    made.__qualname__ = cls.__qualname__

    def complete() -> None:
        model = kind(cls.__name__, cls.__bases__, dict(whole))
        dataclasses.dataclass(**options)(model)
        for name, value in vars(model).items():
            if name not in whole and name != "__init__" and name not in _OF_EVERY_CLASS:
                setattr(made, name, value)
        made.__init__ = model.__init__

    def complete_and_begin(self: Any, *values: Any, **named: Any) -> None:
        complete()
        made.__init__(self, *values, **named)

    made.__init__ = complete_and_begin
    setattr(made, _FIELDS, _Incomplete(complete))
    return made


@final
class _Incomplete:
    """Placeholder of `__dataclass_fields__`: reading it completes the class."""

    __slots__ = ("_complete",)

    def __init__(self, complete: Any) -> None:
        self._complete = complete

    def __get__(self, instance: object, owner: type) -> Any:
        self._complete()
        return getattr(owner, _FIELDS)


def _annotated(cls: type) -> tuple[str, ...]:
    return tuple(vars(cls).get("__annotations__", ()))


def _has_slot(cls: type, name: str) -> bool:
    return any(name in vars(base).get("__slots__", ()) for base in cls.__mro__[1:])
