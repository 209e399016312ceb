"""Splits an expression into tokens.

    white space, -- to the end of a line that has one, /* to */     between tokens
    1  23L                       whole numbers; 007 is three of them
    1.5  5.  .5  5E10            numbers with a fraction
    'it''s'                      text
    price  $_a1                  names; and the keywords, in any case of letters
    = <> < <= > >= ( ) , + -     signs; there is no !=

Tokens are read one by one as the parser asks for them. As in Java, the text after an expression is
read no further than its first token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, final

from gantrymq.base.errors import RemoteError

_SHOWN_MAX: Final = 40


class Word(Enum):
    """The kind of a token; keywords and signs have one kind, and are told apart by their text."""

    END = "the end"
    WHOLE = "a whole number"
    FRACTION = "a number"
    TEXT = "a text in quotes"
    NAME = "a name"
    SIGN = "a sign"


@final
@dataclass(frozen=True, slots=True)
class Token:
    """One token; `text` is in capitals for keywords, and as written otherwise."""

    word: Word
    text: str
    position: int


class SelectorError(RemoteError):
    """An invalid expression; the text says where and why."""


_LOGIC: Final = ("NOT", "AND", "OR", "TRUE", "FALSE", "NULL", "IS")
_TESTS: Final = ("BETWEEN", "IN", "CONTAINS", "STARTSWITH", "ENDSWITH")
KEYWORDS: Final = frozenset((*_LOGIC, *_TESTS))

_BETWEEN_WORDS: Final = re.compile(
    r"(?:[ \t\n\r\f]+|--[^\n\r]*[\n\r]|/\*[^*]*\*(?:\*|[^*/][^*]*\*)*/)*"
)
_WORDS: Final = re.compile(
    r"(?P<FRACTION>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?"
    r"|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<WHOLE>0|[1-9][0-9]*[lL]?)"
    r"|(?P<TEXT>'[^']*(?:''[^']*)*')"
    r"|(?P<NAME>[A-Za-z_$][A-Za-z0-9_$]*)"
    r"|(?P<SIGN><>|<=|>=|[<>=(),+-])"
)


@final
class Tokens:
    """The tokens of one text; `next` is the next one to take."""

    __slots__ = ("_at", "_text", "next")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.next: Token = self._read()

    def take(self) -> Token:
        taken = self.next
        self.next = self._read()
        return taken

    def takes(self, text: str) -> bool:
        """Take the next token if it is this keyword or sign; return whether it was."""
        if self.next.word is not Word.SIGN or self.next.text != text:
            return False
        self.take()
        return True

    def _read(self) -> Token:
        between = _BETWEEN_WORDS.match(self._text, self._at)
        start = self._at if between is None else between.end()
        if start == len(self._text):
            self._at = start
            return Token(Word.END, "", start)
        found = _WORDS.match(self._text, start)
        if found is None or found.lastgroup is None:
            raise unreadable(self._text, start)
        self._at = found.end()
        word, text = Word[found.lastgroup], found[0]
        if word is Word.NAME and text.upper() in KEYWORDS:
            return Token(Word.SIGN, text.upper(), start)
        return Token(word, text, start)


def unreadable(text: str, position: int) -> SelectorError:
    rest = text[position : position + _SHOWN_MAX]
    hints = {"'": "the quote is not closed", "!": "write <> for unequal", '"': "quote text by '"}
    hint = hints.get(rest[0], "no word begins like this")
    return SelectorError(f"at character {position + 1}, {rest!r}: {hint}")
