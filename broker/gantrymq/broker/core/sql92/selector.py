"""Compiles and caches whole expressions, and matches messages against them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, final

from gantrymq.broker.core.sql92.parser import parse
from gantrymq.broker.core.sql92.terms import Evaluate, Properties
from gantrymq.broker.core.sql92.tokens import SelectorError
from gantrymq.wire.bodies.heartbeat import EXPRESSION_SQL92
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record

# Lite pull consumers send their expression with each pull. Compiled, a character takes up to 120
# bytes: the short expressions take 30 MB, the longest possible ones 60 MB.
SHORT_CHARACTERS: Final = 1_000
COMPILED_MAX: Final = 256
LONG_COMPILED_MAX: Final = 16


@final
@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled filter expression; `ignored` is the text that followed the expression."""

    expression: str
    ignored: str
    _evaluate: Evaluate = field(repr=False)

    def chooses(self, named: Properties) -> bool:
        """Whether a message with these properties matches; false if that cannot be decided."""
        try:
            return self._evaluate(named) is True
        except ValueError:
            return False

    def matches(self, record: Record) -> bool:
        return self.chooses(properties.parse(record.properties))


def selector_of(kind: str, expression: str) -> Selector:
    """Compile an expression of another kind than TAG. Raises SelectorError for an invalid one."""
    if kind != EXPRESSION_SQL92:
        raise SelectorError(f"{kind} filters are unknown; there are {EXPRESSION_SQL92} and TAG")
    is_short = len(expression) <= SHORT_CHARACTERS
    return _short_compiled(expression) if is_short else _long_compiled(expression)


def compiled(expression: str) -> Selector:
    """Compile an expression. Raises SelectorError for an invalid one."""
    parsed = parse(expression)
    return Selector(expression, expression[parsed.end :], parsed.condition.evaluate)


_short_compiled: Final = lru_cache(COMPILED_MAX)(compiled)
_long_compiled: Final = lru_cache(LONG_COMPILED_MAX)(compiled)
