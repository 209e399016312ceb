"""A command that takes or gives messages as they come, instead of making one page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from gantrymq.cli.frame.option import Option, Options
from gantrymq.cli.frame.page import Page

if TYPE_CHECKING:
    from gantrymq.cli.frame.stream import Stream

Work: TypeAlias = "Callable[[Stream, Options], Awaitable[Page]]"


@dataclass(frozen=True, slots=True)
class StreamCommand:
    """Its page says what came of it, at the end; `forms` are how messages may be shown, the first
    one unless another is asked for."""

    name: str
    options: tuple[Option, ...]
    run: Work
    forms: tuple[str, ...] = ("table", "json")
