"""Defines the values of expressions, and compares them as Java does.

A property is text or None. Literals are int (Java's Integer), Long, float (Double), str and bool.
Text that is compared with a number is parsed to that number's type: '3.5' is not an int and '3' is
a double. Text that cannot be parsed raises ValueError, and the message does not match.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final, TypeAlias, final

from gantrymq.base.bounds import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from gantrymq.broker.core.sql92.cost import NUMBER_CHARACTERS_MAX
from gantrymq.wire.message.tags import TRIMMED


@final
class Long(int):
    """A whole number of Java's type Long."""

    __slots__ = ()


Number: TypeAlias = int | float
Value: TypeAlias = str | Number | None

# Both patterns accept digits of other scripts, as Java does.
_INTEGER: Final = re.compile(r"[+-]?\d+")
_DOUBLE: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"
)


def compare(left: str | Number, right: str | Number) -> int:
    """Compare two values: negative, 0 or positive.

    The result is -1 for a bool and another type, and 1 for texts that differ. Raises ValueError if
    one value cannot be parsed as the other's type.
    """
    if isinstance(left, str):
        if isinstance(right, str):
            return 0 if left == right else 1
        return _order(_PARSERS[type(right)](left), right)
    if isinstance(right, str):
        if isinstance(left, bool):
            raise ValueError("text is no truth value")  # noqa: TRY004 - it is no defect
        return _order(left, _PARSERS[type(left)](right))
    if isinstance(left, bool) is not isinstance(right, bool):
        return -1
    return _order(left, right)


def _order(left: Number, right: Number) -> int:
    """Compare numbers; doubles as Double.compareTo: -0.0 is below 0.0, and NaN above all."""
    if not isinstance(left, float) and not isinstance(right, float):
        return (left > right) - (left < right)
    left, right = float(left), float(right)
    if left < right:
        return -1
    if left > right:
        return 1
    return _rank(left) - _rank(right)


def _rank(number: float) -> int:
    """The order of doubles that are neither smaller nor larger than each other."""
    if math.isnan(number):
        return 2
    return 1 if math.copysign(1.0, number) > 0 else 0


def parse_double(text: str) -> float:
    """Parse as Double.valueOf does, without its hexadecimal form and texts longer than any
    double."""
    if len(text) > NUMBER_CHARACTERS_MAX:
        raise ValueError("no double")
    text = text.strip(TRIMMED)
    if _DOUBLE.fullmatch(text) is None:
        raise ValueError("no double")
    return float(text.rstrip("fFdD") if text[-1:] in "fFdD" else text)


def _parse_integer(text: str) -> int:
    return _whole(text, INT_MIN, INT_MAX)


def _parse_long(text: str) -> int:
    return Long(_whole(text, LONG_MIN, LONG_MAX))


def _whole(text: str, lowest: int, highest: int) -> int:
    if len(text) > NUMBER_CHARACTERS_MAX or _INTEGER.fullmatch(text) is None:
        raise ValueError("no whole number")
    number = int(text)
    if not lowest <= number <= highest:
        raise ValueError("out of range")
    return number


def _parse_boolean(text: str) -> bool:
    return len(text) == len("true") and text.lower() == "true"


_PARSERS: Final[dict[type, Callable[[str], Number]]] = {
    int: _parse_integer,
    Long: _parse_long,
    float: parse_double,
    bool: _parse_boolean,
}
