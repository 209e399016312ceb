"""Declares fields of the resources: what a field means, its bounds and its rules.

A dataclass field made by `described` has all that the schema, the documentation and the parser
need. Each rule exists twice: in CEL for the API server, and in Python for the operator, which must
also refuse what an API server with an older definition accepts. The tests give both the same
values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Final, NewType, Protocol, final

Quantity = NewType("Quantity", str)
"""A quantity of Kubernetes, such as `250m` or `1Gi`."""

Scalar = NewType("Scalar", str)
"""The value of a configuration key: text, or a whole number that becomes text."""

REQUIRED: Final[Any] = object()
"""The default of a field that the user must give."""


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """A condition on a value beyond its type, and the message for the user if it does not hold.

    `holds` takes the JSON value. A rule about a change, whose `cel` names `oldSelf`, has no
    `holds`, because only the API server sees both values.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None
    at: str = ""
    """The field below the value that the message is about."""


@final
@dataclass(frozen=True, slots=True)
class Text:
    """Bounds of a text: its length, and a pattern that the whole text matches, in words."""

    max_length: int
    pattern: str = ""
    words: str = ""

    def rules(self) -> tuple[Rule, ...]:
        """Return the pattern as a rule, because a rule has a readable message, and a pattern of
        OpenAPI has not."""
        return _pattern_rules(self.pattern, self.words)


@cache  # the patterns of the model are few, and there are 10 000 topics to check
def _pattern_rules(pattern: str, words: str) -> tuple[Rule, ...]:
    if not pattern:
        return ()
    compiled = re.compile(pattern)
    return (
        Rule(
            f"self.matches({quoted(f'^({pattern})$')})",
            words,
            lambda text: compiled.fullmatch(text) is not None,
        ),
    )


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """The declaration of one field."""

    about: str
    minimum: int | None = None
    maximum: int | None = None
    text: Text | None = None
    """Bounds of a text, or of the values of a list or map of texts."""
    max_items: int | None = None
    """The most entries of a list or a map."""
    rules: tuple[Rule, ...] = ()
    default_words: str = ""
    """Describes the value of an absent field, for which the schema has no default."""
    example: str = ""
    is_required: bool = False
    map_key: str = ""
    """The field that names an entry in a list of objects, so that several appliers can write it."""
    is_reported: bool = False
    """Whether the field is in a status. The operator writes it, so the schema sets no default."""


class Described(Protocol):
    """A dataclass whose fields are made by `described`; `RULES` are about the object as a whole."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


def described(
    about: str,
    default: Any = REQUIRED,
    *,
    factory: Callable[[], Any] | None = None,
    minimum: int | None = None,
    maximum: int | None = None,
    text: Text | None = None,
    max_items: int | None = None,
    rules: tuple[Rule, ...] = (),
    default_words: str = "",
    example: str = "",
    map_key: str = "",
) -> Any:
    """Declare a field. Returns Any, as dataclasses.field does."""
    is_required = default is REQUIRED and factory is None
    facts = Facts(
        about,
        minimum,
        maximum,
        text,
        max_items,
        rules,
        default_words,
        example,
        is_required,
        map_key,
    )
    metadata = {"facts": facts}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    if is_required:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


def reported(
    about: str, default: Any = None, *, factory: Callable[[], Any] | None = None, map_key: str = ""
) -> Any:
    """Declare a field of a status."""
    metadata = {"facts": Facts(about, map_key=map_key, is_reported=True)}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def quoted(text: str) -> str:
    """Return the text as a CEL literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def one_of(values: tuple[str, ...]) -> str:
    """Return a CEL list literal."""
    return f"[{', '.join(quoted(each) for each in values)}]"
