"""Which of the hot modules run compiled.

A hot module is one source: a library made from it by mypyc wins over the `.py` when both are
there. This answers what was really imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Final

from gantrymq.wire import command, frames, header_binary, header_json, header_scan

_HOT: Final[tuple[ModuleType, ...]] = (command, frames, header_binary, header_json, header_scan)


def implementations() -> Mapping[str, str]:
    """`compiled` or `pure` for each hot module."""
    return {module.__name__: _implementation(module) for module in _HOT}


def implementation() -> str:
    """All of them in a word; when they differ, each by name."""
    live = implementations()
    words = set(live.values())
    if len(words) == 1:
        return words.pop()
    return ", ".join(f"{name} {word}" for name, word in live.items())


def _implementation(module: ModuleType) -> str:
    is_library = (module.__file__ or "").endswith(tuple(EXTENSION_SUFFIXES))
    return "compiled" if is_library else "pure"
