"""The text of a table in a configuration file, kept entry by entry.

A file is written whole at every change, and the largest tables have 100 000 entries: their text is
joined from those of the entries. A change makes the text of an entry that changed a while ago, so
that few are left to be made when the file is due.

Invariant: at most STALE_MAX texts are not those of their entries, and `text` makes these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar, final

from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json

K = TypeVar("K")

# A file that is due has so many to make, a millisecond's work; an entry that changes all the time
# is made once in so many changes of others.
STALE_MAX: Final = 64


@final
class EntryTexts(Generic[K]):
    """`text_of` answers the member of a key that is in the table: see `member`."""

    __slots__ = ("_stale", "_text_of", "_texts")

    def __init__(self, text_of: Callable[[K], bytes]) -> None:
        self._text_of = text_of
        self._texts: dict[K, bytes] = {}
        self._stale: dict[K, None] = {}

    def __len__(self) -> int:
        """Entries of the table."""
        return len(self._texts)

    def changed(self, key: K) -> None:
        """The entry is new, or other than it was."""
        self._texts.setdefault(key, b"")
        self._stale[key] = None
        if len(self._stale) > STALE_MAX:
            oldest = next(iter(self._stale))
            del self._stale[oldest]
            self._texts[oldest] = self._text_of(oldest)

    def removed(self, key: K) -> None:
        self._texts.pop(key, None)
        self._stale.pop(key, None)

    def text(self, instead: Mapping[K, bytes] | None = None) -> bytes:
        """The whole table; with other members for some of its entries, where they are given."""
        for key in self._stale:
            self._texts[key] = self._text_of(key)
        self._stale.clear()
        texts = {**self._texts, **instead} if instead else self._texts
        return b"{" + b",".join(texts.values()) + b"\n\t}" if texts else b"{}"


def member(name: str, value: Json) -> bytes:
    """A member of a table as javajson.dumps_pretty writes it, two levels inside the file."""
    pretty = javajson.dumps_pretty({name: value})
    # Without the braces around it, and one level further in: texts have no bare newline.
    return pretty[1:-2].replace(b"\n", b"\n\t")
