"""Defines the type of a command that streams messages instead of making one page."""

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
    """A command that streams messages. Its page is a summary at the end; `forms` are the values of
    --output, the default first."""

    name: str
    options: tuple[Option, ...]
    run: Work
    forms: tuple[str, ...] = ("table", "json")
