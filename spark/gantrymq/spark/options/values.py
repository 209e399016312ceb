"""Reads the values of options from Spark, and refuses secrets and likely typing errors."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final, TypeVar, final

from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.options.table import OPTIONS, Option

T = TypeVar("T")

_SECRETS: Final = {"accesskey", "secretkey", "securitytoken"}

# Spark itself adds these to the options of tables.
_OF_SPARK: Final = {"path", "owner", "provider", "header", "location"}

# A name this similar to an option's is a typing error.
_SIMILARITY: Final = 0.8


def _names(option: Option[T]) -> tuple[str, ...]:
    return option.name, *option.aliases


_BY_NAME: Final = {name.lower(): option for option in OPTIONS for name in _names(option)}


@final
class OptionValues:
    """The options of one read or write."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Raises RocketMQOptionError on a secret, and on a name that is similar to an option's."""
        self._texts = {name.lower(): text for name, text in texts.items()}
        for name in self._texts:
            _must_be_meant(name)

    def has(self, option: Option[T]) -> bool:
        """Whether the user gave it."""
        return self._text(option) is not None

    def find(self, option: Option[T]) -> T | None:
        """Return its value or default; None if it has neither. Raises RocketMQOptionError."""
        text = self._text(option)
        if text is None:
            text = option.default
        if text is None:
            return None
        try:
            return option.kind.parse(text)
        except (ValueError, KeyError) as error:
            refusal = RocketMQOptionError.of(option.name, text, option.kind.allowed)
            if isinstance(error, ValueError) and str(error):
                refusal = RocketMQOptionError(f"{refusal} ({error})")
            raise refusal from None

    def get(self, option: Option[T]) -> T:
        """Return the value or the default. Raises RocketMQOptionError if there is neither."""
        value = self.find(option)
        if value is None:
            raise RocketMQOptionError(
                f"option {option.name} is missing: give {option.kind.allowed}"
            )
        return value

    def at_most_one(self, *options: Option[Any]) -> None:  # Any: of different types
        """Raise RocketMQOptionError if several of these were given."""
        given = [option.name for option in options if self.has(option)]
        if len(given) > 1:
            raise RocketMQOptionError(
                f"options {', '.join(given)} exclude each other: give one of them"
            )

    def _text(self, option: Option[T]) -> str | None:
        found = {
            name: self._texts[name.lower()]
            for name in _names(option)
            if name.lower() in self._texts
        }
        if len(set(found.values())) > 1:
            raise RocketMQOptionError(
                f"options {', '.join(found)} are two names of one option, and their values differ:"
                " give one of them"
            )
        return next(iter(found.values()), None)


def _must_be_meant(name: str) -> None:
    if name in _SECRETS:
        raise RocketMQOptionError(
            f"option {name} is refused, because Spark shows options in plans and logs: put"
            " accessKey and secretKey into a file and give its path as credentialsFile, or set the"
            " environment variables GANTRY_ACCESS_KEY and GANTRY_SECRET_KEY"
        )
    if name in _BY_NAME or name in _OF_SPARK or "." in name:
        return
    similar = difflib.get_close_matches(name, _BY_NAME, 1, _SIMILARITY)
    if similar:
        raise RocketMQOptionError(
            f"there is no option {name}: {_BY_NAME[similar[0]].name} is probably meant"
        )
