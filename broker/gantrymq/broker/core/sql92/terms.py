"""Compiles parts of an expression into closures over a message's properties.

Logic has three values; None is unknown. A comparison with a missing property is unknown, and so is
its negation. AND is false and OR true as soon as one part is. Two properties are compared as
numbers, a property and a literal as the literal's type (values.py). If `evaluate` raises
ValueError, the message does not match, whatever the rest of the expression is.

Each function below makes one kind of term, or refuses a meaningless one, as Java does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from gantrymq.broker.core.sql92 import cost
from gantrymq.broker.core.sql92.tokens import SelectorError
from gantrymq.broker.core.sql92.values import Long, Value, compare, parse_double

Properties: TypeAlias = Mapping[str, str]
Evaluate: TypeAlias = Callable[[Properties], Value]

# Each level takes two frames of Python's stack, which has a thousand.
HEIGHT_MAX: Final = 400


@final
@dataclass(frozen=True, slots=True)
class Term:
    """A compiled part of an expression.

    `is_condition`: it can be true, false or unknown. `name`: that of the property, if it is one.
    `height`: how deep calls of `evaluate` nest.
    """

    evaluate: Evaluate
    is_condition: bool = False
    is_literal: bool = False
    name: str | None = None
    height: int = 1


def property_of(name: str) -> Term:
    return Term(lambda properties: properties.get(name), name=name)


def literal(value: Value) -> Term:
    is_condition = value is None or isinstance(value, bool)
    return Term(lambda _: value, is_condition=is_condition, is_literal=True)


def negative(term: Term) -> Term:
    """-x; unknown when x is not a number."""
    inner = term.evaluate

    def evaluate(properties: Properties) -> Value:
        value = inner(properties)
        if isinstance(value, Long):
            return Long(-value)
        if value is None or isinstance(value, str | bool):
            return None
        return -value

    return _above([term], evaluate, is_condition=False)


def condition(term: Term) -> Term:
    """The term as a condition. A property alone is text, hence false if it exists, else unknown."""
    if term.is_condition:
        return term
    if term.name is None:
        raise SelectorError("a number or text is no condition; compare it with something")
    inner = term.evaluate
    return _above([term], lambda properties: None if inner(properties) is None else False)


def negation(term: Term) -> Term:
    inner = condition(term).evaluate

    def evaluate(properties: Properties) -> Value:
        value = inner(properties)
        return None if value is None else not value

    return _above([term], evaluate)


def all_of(terms: Sequence[Term]) -> Term:
    return _decided_by(terms, decisive=False)


def any_of(terms: Sequence[Term]) -> Term:
    return _decided_by(terms, decisive=True)


def _decided_by(terms: Sequence[Term], *, decisive: bool) -> Term:
    parts = [condition(term).evaluate for term in terms]

    def evaluate(properties: Properties) -> Value:
        result: Value = not decisive
        for part in parts:
            value = part(properties)
            if value is decisive:
                return decisive
            if value is None:
                result = None
        return result

    return _above(terms, evaluate)


def equal(left: Term, right: Term) -> Term:
    for side in (left, right):
        if side.is_literal and side.evaluate({}) is None:
            raise SelectorError("nothing equals NULL; write IS NULL or IS NOT NULL")
    if left.is_literal and right.is_literal and left.is_condition and not right.is_condition:
        raise SelectorError("a truth value cannot be compared with a number or text")
    return _equal(left, right)


def is_null(term: Term) -> Term:
    return _equal(term, literal(None))


def _equal(left: Term, right: Term) -> Term:
    left_value, right_value = left.evaluate, right.evaluate

    def evaluate(properties: Properties) -> Value:
        one, other = left_value(properties), right_value(properties)
        if one is None:
            return True if other is None else None
        return other is not None and compare(one, other) == 0

    return _above([left, right], evaluate)


ORDERS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def ordered(left: Term, sign: str, right: Term) -> Term:
    """`sign` is one of ORDERS."""
    _require_number(left)
    _require_number(right)
    left_value, right_value, holds = left.evaluate, right.evaluate, ORDERS[sign]

    def evaluate(properties: Properties) -> Value:
        one = left_value(properties)
        if one is None:
            return None
        other = right_value(properties)
        if other is None:
            return None
        if isinstance(one, str) and isinstance(other, str):
            one, other = parse_double(one), parse_double(other)
        return holds(compare(one, other), 0)

    return _above([left, right], evaluate)


def _require_number(term: Term) -> None:
    if term.is_condition or (term.is_literal and isinstance(term.evaluate({}), str)):
        raise SelectorError("only numbers and properties have an order, text and conditions none")


def between(term: Term, low: Term, high: Term) -> Term:
    bounds = [ordered(term, ">=", low), ordered(term, "<=", high)]
    if low.is_literal and high.is_literal and ordered(low, ">", high).evaluate({}):
        raise SelectorError("nothing is BETWEEN a number and a smaller one")
    return all_of(bounds)


def outside(term: Term, low: Term, high: Term) -> Term:
    """NOT BETWEEN."""
    return any_of([ordered(term, "<", low), ordered(term, ">", high)])


def member(term: Term, texts: Collection[str], *, wanted: bool) -> Term:
    """IN, or NOT IN if not `wanted`."""
    if term.name is None:
        raise SelectorError("only a property can be IN a list")
    inner, listed = term.evaluate, frozenset(texts)

    def evaluate(properties: Properties) -> Value:
        value = inner(properties)
        return None if value is None else (value in listed) is wanted

    return _above([term], evaluate)


TESTS: Final[Mapping[str, Callable[[str], Callable[[str], bool]]]] = {
    "CONTAINS": cost.search_for,
    "STARTSWITH": lambda part: lambda text: text.startswith(part),
    "ENDSWITH": lambda part: lambda text: text.endswith(part),
}


def tested(term: Term, test: str, text: str, *, wanted: bool) -> Term:
    """A test of a text; `test` is one of TESTS.

    Neither the test nor its negation is true of a value that is not text. With an empty `text` both
    are false.
    """
    inner, passes = term.evaluate, TESTS[test](text)

    def evaluate(properties: Properties) -> Value:
        if not text:
            return False
        value = inner(properties)
        return isinstance(value, str) and passes(value) is wanted

    return _above([term], evaluate)


def _above(terms: Sequence[Term], evaluate: Evaluate, *, is_condition: bool = True) -> Term:
    height = 2 + max(term.height for term in terms)
    if height > HEIGHT_MAX:
        raise SelectorError("the expression nests too deep")
    return Term(evaluate, is_condition=is_condition, height=height)
