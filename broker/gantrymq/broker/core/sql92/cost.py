"""Limits the cost of an expression for each message, and provides a text search of bounded cost.

The cost is in compared characters. One character takes about 5 ns at worst, so the most expensive
allowed expression takes 12 ms for the most expensive message, and some 0.1 ms for a common one: a
turn of the event loop can afford either.

    a property, value or sign   PART
    CONTAINS                    PART, and the longest text that a property can be
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from gantrymq.broker.core.sql92.tokens import SelectorError
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX

COST_MAX: Final = 2_500_000
PART: Final = 200
CONTAINS: Final = PART + PROPERTIES_BYTES_MAX

# At worst, `in` compares each character with each one of the search text. Regular expressions
# search in linear time, but have to be compiled first.
SHORT_SEARCH: Final = 50_000
# Compiling takes 1 us for each character.
CONTAINED_CHARACTERS_MAX: Final = 1_000

# The longest double, -5e-324 written without an exponent, has fewer. The time of parsing grows with
# the length.
NUMBER_CHARACTERS_MAX: Final = 400


def checked(cost: int) -> int:
    """Return the cost. Raises SelectorError when it is too high."""
    if cost > COST_MAX:
        raise SelectorError(
            f"the expression up to here costs {cost} comparisons of characters for each message,"
            f" {COST_MAX} are allowed: CONTAINS may have to look through {PROPERTIES_BYTES_MAX}"
            " characters each time; use fewer of them, or =, IN, STARTSWITH or ENDSWITH, or set a"
            " property to choose by"
        )
    return cost


def search_for(part: str) -> Callable[[str], bool]:
    """A function that tells whether a text contains `part`. Raises SelectorError for a too long
    part."""
    if len(part) > CONTAINED_CHARACTERS_MAX:
        raise SelectorError(
            f"CONTAINS looks for a text of {len(part)} characters, {CONTAINED_CHARACTERS_MAX} are"
            " allowed; use = or STARTSWITH"
        )
    pattern: re.Pattern[str] | None = None

    def contains(text: str) -> bool:
        nonlocal pattern
        if len(text) * len(part) <= SHORT_SEARCH:
            return part in text
        if pattern is None:
            pattern = re.compile(re.escape(part))
        return pattern.search(text) is not None

    return contains
