"""Tells which of the hot modules run compiled, and what it costs if they do not.

A hot module has one source: the library that mypyc makes from it takes precedence over the `.py` if
both exist. To find out, only the packages of the modules are imported, not the modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import find_spec
from typing import Final

from gantrymq.runtime.hot_modules import HOT_MODULES
from gantrymq.runtime.logs import Log

# Measured with a standalone server: sends and deliveries of 512 bytes.
PURE_ADVICE: Final = (
    "modules that are not compiled need about ten times the CPU for each message; to change that,"
    " install a C compiler and Python's headers (Debian: apt-get install gcc python3-dev) and"
    " install gantrymq again (pip install --force-reinstall --no-cache-dir --no-deps)"
)

_IN_EVERY_SERVER: Final = ("gantrymq.remoting.", "gantrymq.runtime.", "gantrymq.wire.")


def implementations() -> Mapping[str, str]:
    """`compiled` or `pure` for each hot module of this installation."""
    return {name: _implementation(find_spec(name)) for name in HOT_MODULES}


def implementation() -> str:
    """One word if all modules agree; otherwise each module with its word."""
    live = implementations()
    words = set(live.values())
    if len(words) == 1:
        return words.pop()
    return ", ".join(f"{name} {word}" for name, word in live.items())


def of_process() -> str:
    """`compiled` or `pure`, judged by the modules that every server loads: cheap at a start."""
    names = (name for name in HOT_MODULES if name.startswith(_IN_EVERY_SERVER))
    return "pure" if "pure" in {_implementation(find_spec(name)) for name in names} else "compiled"


def report(log: Log) -> None:
    """Log whether this server runs compiled; a warning if it does not, because that is slow."""
    if of_process() == "pure":
        log.warning("running uncompiled", modules="pure", advice=PURE_ADVICE)
    else:
        log.info("running compiled", modules="compiled")


def _implementation(spec: ModuleSpec | None) -> str:
    is_library = (spec.origin if spec and spec.origin else "").endswith(tuple(EXTENSION_SUFFIXES))
    return "compiled" if is_library else "pure"
