"""Parses the delay levels of messages: how long a message of each level is held back.

messageDelayLevel    "1s 5s 10s 30s 1m ..."    level 1 is the first, units s m h d
"""

from __future__ import annotations

import re
from typing import Final, final

from gantrymq.base.errors import LocalError

_DELAY: Final = re.compile(r"([0-9]{1,9})([smhd])")
_UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

# The delay that Java uses for an unknown level.
_UNKNOWN_MS: Final = 1000


@final
class DelayLevels:
    """The delays in ms; level 1 is the first."""

    __slots__ = ("delays_ms",)

    def __init__(self, text: str) -> None:
        delays_ms: list[int] = []
        for word in text.split():
            found = _DELAY.fullmatch(word)
            if found is None:
                raise LocalError(
                    f"messageDelayLevel: {word!r} is no delay; write numbers with s, m, h or d, "
                    "as in 1s 5s 1m 2h"
                )
            delays_ms.append(int(found[1]) * _UNIT_MS[found[2]])
        self.delays_ms: tuple[int, ...] = tuple(delays_ms)

    def delivery_ms(self, level: int, store_timestamp_ms: int) -> int:
        """The time in ms at which a message stored then is due. A level above the highest counts as
        the highest."""
        if level < 1 or not self.delays_ms:
            return store_timestamp_ms + _UNKNOWN_MS
        return store_timestamp_ms + self.delays_ms[min(level, len(self.delays_ms)) - 1]
