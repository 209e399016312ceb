"""Parses deleteWhen: the hours of the day, in local time, at which old files are deleted.

    04    4    04;16;22    04;

Java parses the text at each check; if it is malformed, Java logs a line and deletes nothing. Here a
malformed text refuses the start, for otherwise the misprint shows only when the disk is full.
"""

from __future__ import annotations

import re
from typing import Final

from gantrymq.base.errors import ConfigurationError

_HOUR: Final = re.compile(r"[01]?[0-9]|2[0-3]")


def parse_hours(text: str) -> frozenset[int]:
    """The hours, from 0 to 23, at least one."""
    names = [part.strip() for part in text.split(";") if part.strip()]
    if not names or not all(_HOUR.fullmatch(name) for name in names):
        raise ConfigurationError(
            f"deleteWhen={text}: must be hours from 00 to 23, separated by ';', as in 04 or 04;16"
        )
    return frozenset(map(int, names))
