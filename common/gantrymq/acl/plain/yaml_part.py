"""Reads a mapping of a file key by key, and reports values of the wrong kind."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, final

from gantrymq.base.errors import ConfigurationError

if TYPE_CHECKING:
    from gantrymq.acl.plain.yaml_tree import Tree

_FLAGS: Final = {
    **dict.fromkeys(("true", "yes", "on", "y", "t", "1"), True),
    **dict.fromkeys(("false", "no", "off", "n", "f", "0"), False),
}


@final
class Part:
    """One mapping; unknown keys are added to `warnings`."""

    __slots__ = ("_values", "place", "warnings")

    def __init__(self, place: str, tree: Tree, keys: tuple[str, ...], warnings: list[str]) -> None:
        if not isinstance(tree, dict):
            raise ConfigurationError(f"{place} must be a mapping, key: value")
        self.place: str = place
        self.warnings: list[str] = warnings
        self._values: dict[str, Tree] = tree
        for key in tree:
            if key not in keys:
                near = get_close_matches(key, keys, n=1, cutoff=0.7)
                hint = f"; did you mean {near[0]}?" if near else ""
                warnings.append(f"{place}: {key} means nothing here{hint}")

    def text(self, key: str) -> str:
        """The text of the key; empty if it is missing."""
        value = self._values.get(key)
        if isinstance(value, list | dict):
            raise ConfigurationError(f"{key} must be a text")
        return value or ""

    def texts(self, key: str) -> list[str]:
        texts = []
        for each in self._list(key):
            if not isinstance(each, str):
                raise ConfigurationError(f"{key} must be a list of texts")
            texts.append(each)
        return texts

    def parts(self, key: str, keys: tuple[str, ...]) -> list[Part]:
        """The mappings in a list."""
        return [
            Part(f"{key}[{number}]", each, keys, self.warnings)
            for number, each in enumerate(self._list(key))
        ]

    def flag(self, key: str) -> bool:
        text = self.text(key) or "false"
        if text.lower() not in _FLAGS:
            raise ConfigurationError(f"{key}: {text} must be true or false")
        return _FLAGS[text.lower()]

    def number(self, key: str) -> int:
        text = self.text(key) or "0"
        if not (text.isascii() and text.isdecimal() and len(text) < 20):
            raise ConfigurationError(f"{key}: {text} must be a number")
        return int(text)

    def _list(self, key: str) -> list[Tree]:
        value = self._values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise ConfigurationError(f"{key} must be a list, a line with - each")
        return value
