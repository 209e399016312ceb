"""What an expression may cost for each message, in characters that are compared, and a search whose
worst case is as cheap as that.

One character takes some 5 ns at worst. So the dearest expression that is allowed takes 12 ms for
the dearest message, and some 0.1 ms for a common one: a turn of the loop can bear either.

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

# `in` compares each character with each one of the part that it looks for, at worst; regular
# expressions search for a plain text in linear time, but have to be compiled first.
SHORT_SEARCH: Final = 50_000
# Compiling takes 1 us a character.
CONTAINED_CHARACTERS_MAX: Final = 1_000

# The longest double, -5e-324 written without an exponent, has fewer. Parsing takes as long as the
# text is.
NUMBER_CHARACTERS_MAX: Final = 400


def checked(cost: int) -> int:
    """The cost; SelectorError when it is too high."""
    if cost > COST_MAX:
        raise SelectorError(
            f"the expression up to here costs {cost} comparisons of characters for each message,"
            f" {COST_MAX} are allowed: CONTAINS may have to look through {PROPERTIES_BYTES_MAX}"
            " characters each time; use fewer of them, or =, IN, STARTSWITH or ENDSWITH, or set a"
            " property to choose by"
        )
    return cost


def search_for(part: str) -> Callable[[str], bool]:
    """Whether a text contains this part; SelectorError when the part is too long."""
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
