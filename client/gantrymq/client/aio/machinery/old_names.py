"""Warns of names of the public API that were renamed; an old name works for one more release."""

from __future__ import annotations

import warnings
from typing import Final

from gantrymq.client.aio.machinery.environment import Environment

# The frame that uses the old name: behind this function and the method that has the old name.
_USER: Final = 3


def renamed_environment(environment: Environment, world: Environment | None) -> Environment:
    """Return the environment that a constructor was given, by this keyword or by its old name."""
    if world is None:
        return environment
    warnings.warn(
        "The keyword `world` has been renamed to `environment`. The old name will be removed in"
        " the next release.",
        DeprecationWarning,
        stacklevel=_USER,
    )
    return world


def renamed_method(old: str, new: str) -> None:
    """Warn the caller of a method that is called by its old name."""
    warnings.warn(
        f"`{old}` has been renamed to `{new}`. The old name will be removed in the next release.",
        DeprecationWarning,
        stacklevel=_USER,
    )
