"""Parses SQL92 expressions by recursive descent.

The grammar, by rising precedence:

    either      all, OR all ...
    all         equality, AND equality ...
    equality    comparison, = comparison | <> comparison | IS [NOT] NULL ...
    comparison  unary, < unary | ... | [NOT] BETWEEN unary AND unary | [NOT] IN ('a', 'b')
                | [NOT] CONTAINS 'a' | [NOT] STARTSWITH 'a' | [NOT] ENDSWITH 'a' ...
    unary       + unary | - unary | NOT unary | literal | name | ( either )

NOT binds closer than comparisons do: NOT a = 1 is (NOT a) = 1. Text after a complete expression is
ignored, as in Java; `Parsed.end` lets the caller detect it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.bounds import INT_MAX, LONG_MAX
from gantrymq.broker.core.sql92 import cost, terms
from gantrymq.broker.core.sql92.terms import Term
from gantrymq.broker.core.sql92.tokens import SelectorError, Token, Tokens, Word
from gantrymq.broker.core.sql92.values import Long

# The most that a message's properties, which are compared with it, may take.
CHARACTERS_MAX: Final = 32_767

# Each level takes six frames of Python's stack, which has a thousand.
NESTING_MAX: Final = 64

# The most properties, values, and signs, NOTs and brackets before them; each takes up to 20 us to
# compile. A list of any length does not count. `cost` limits the work for each message.
PARTS_MAX: Final = 1_500

_LITERALS: Final = {"TRUE": True, "FALSE": False, "NULL": None}


@final
@dataclass(frozen=True, slots=True)
class Parsed:
    """A condition, and the position where its text ended."""

    condition: Term
    end: int


def parse(text: str) -> Parsed:
    """Parse the condition at the beginning of the text."""
    if len(text) > CHARACTERS_MAX:
        raise SelectorError(f"it has {len(text)} characters, at most {CHARACTERS_MAX} are read")
    parser = _Parser(Tokens(text))
    try:
        condition = terms.condition(parser.either())
    except SelectorError as error:
        if str(error).startswith("at character"):
            raise
        raise SelectorError(f"at character {parser.tokens.next.position + 1}: {error}") from None
    return Parsed(condition, parser.tokens.next.position)


@final
class _Parser:
    """A recursive descent parser of one text."""

    __slots__ = ("_cost", "_nesting", "_parts", "tokens")

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self._cost = 0
        self._nesting = 0
        self._parts = 0

    def either(self) -> Term:
        parts = [self._all()]
        while self.tokens.takes("OR"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else terms.any_of(parts)

    def _all(self) -> Term:
        parts = [self._equality()]
        while self.tokens.takes("AND"):
            parts.append(self._equality())
        return parts[0] if len(parts) == 1 else terms.all_of(parts)

    def _equality(self) -> Term:
        left, takes = self._comparison(), self.tokens.takes
        while True:
            if takes("="):
                left = terms.equal(left, self._comparison())
            elif takes("<>"):
                left = terms.negation(terms.equal(left, self._comparison()))
            elif takes("IS"):
                is_negated = takes("NOT")
                self._expect("NULL")
                left = terms.is_null(left)
                if is_negated:
                    left = terms.negation(left)
            else:
                return left

    def _comparison(self) -> Term:
        left, tokens = self._unary(), self.tokens
        while tokens.next.word is Word.SIGN:
            sign = tokens.next.text
            if sign in terms.ORDERS:
                tokens.take()
                left = terms.ordered(left, sign, self._unary())
            elif sign in terms.TESTS or sign in {"NOT", "BETWEEN", "IN"}:
                left = self._tested(left, wanted=not tokens.takes("NOT"))
            else:
                break
        return left

    def _tested(self, left: Term, *, wanted: bool) -> Term:
        """Parse a test that may follow NOT."""
        token = self.tokens.take()
        if token.text == "BETWEEN":
            low = self._unary()
            self._expect("AND")
            return (terms.between if wanted else terms.outside)(left, low, self._unary())
        if token.text == "IN":
            return terms.member(left, self._list(), wanted=wanted)
        if token.word is not Word.SIGN or token.text not in terms.TESTS:
            raise _unexpected(token, "BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH")
        if token.text == "CONTAINS":
            self._cost = cost.checked(self._cost + cost.CONTAINS)
        return terms.tested(left, token.text, self._text(), wanted=wanted)

    def _list(self) -> list[str]:
        self._expect("(")
        texts = [self._text()]
        while self.tokens.takes(","):
            texts.append(self._text())
        self._expect(")")
        return texts

    def _unary(self) -> Term:
        self._nesting += 1
        self._parts += 1
        self._cost = cost.checked(self._cost + cost.PART)
        if self._parts > PARTS_MAX:
            raise SelectorError(
                f"the expression has more than {PARTS_MAX} properties and values; write"
                " name IN ('a', 'b') for name = 'a' OR name = 'b', or set a property to choose by"
            )
        if self._nesting > NESTING_MAX:
            raise SelectorError("the expression nests too deep")
        takes = self.tokens.takes
        if takes("+"):
            term = self._unary()
        elif takes("-"):
            term = terms.negative(self._unary())
        elif takes("NOT"):
            term = terms.negation(self._unary())
        elif takes("("):
            term = self.either()
            self._expect(")")
        else:
            term = _operand(self.tokens.take())
        self._nesting -= 1
        return term

    def _text(self) -> str:
        token = self.tokens.take()
        if token.word is not Word.TEXT:
            raise _unexpected(token, Word.TEXT.value)
        return _unquoted(token.text)

    def _expect(self, text: str) -> None:
        if not self.tokens.takes(text):
            raise _unexpected(self.tokens.next, text)


def _operand(token: Token) -> Term:
    if token.word is Word.NAME:
        return terms.property_of(token.text)
    if token.word is Word.TEXT:
        return terms.literal(_unquoted(token.text))
    if token.word is Word.WHOLE:
        return terms.literal(_whole(token.text.rstrip("lL")))
    if token.word is Word.FRACTION:
        return terms.literal(_fraction(token.text))
    if token.word is Word.SIGN and token.text in _LITERALS:
        return terms.literal(_LITERALS[token.text])
    raise _unexpected(token, "a property, a number or a text in quotes")


def _whole(digits: str) -> int:
    # A long has fewer digits; int() must not parse longer texts.
    number = int(digits) if len(digits) < 20 else LONG_MAX + 1
    if number > LONG_MAX:
        raise SelectorError(f"{digits[:40]} is larger than {LONG_MAX}, the largest whole number")
    return number if number <= INT_MAX else Long(number)


def _fraction(text: str) -> float:
    number = float(text)
    if number == 0 or math.isinf(number):
        raise SelectorError(f"{text[:40]} is no double but 0 or infinite; write 0 for zero")
    return number


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'")


def _unexpected(token: Token, wanted: str) -> SelectorError:
    found = repr(token.text[:40]) if token.text else "the end"
    return SelectorError(f"at character {token.position + 1}: {found} where {wanted} belongs")
