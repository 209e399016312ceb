"""Formats and parses times as mqadmin does: in local time."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from gantrymq.cli.frame.failures import UsageError

NOW: Final = "now"


@lru_cache(maxsize=16)
def second(ms: int) -> str:
    """`2026-01-31 12:00:00`."""
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def millisecond(ms: int) -> str:
    """`2026-01-31 12:00:00,123`."""
    return f"{second(ms // 1000 * 1000)},{ms % 1000:03}"


def parse(text: str, now_ms: int) -> int:
    """Return milliseconds for `now`, milliseconds, or `2026-01-31#12:00:00:123`."""
    if text == NOW:
        return now_ms
    try:
        return int(text)
    except ValueError:
        pass
    try:
        moment = datetime.strptime(text + "000", "%Y-%m-%d#%H:%M:%S:%f").astimezone()
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time; a time is now, milliseconds since 1970, or"
            " yyyy-MM-dd#HH:mm:ss:SSS in local time"
        ) from None
    return int(moment.timestamp() * 1000)


def month_starts(ms: int) -> tuple[int, int]:
    """Return the start of this month and the start of the month before, in milliseconds."""
    first = datetime.fromtimestamp(ms / 1000).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    before = (first - timedelta(days=1)).replace(day=1)
    return int(first.timestamp() * 1000), int(before.timestamp() * 1000)
